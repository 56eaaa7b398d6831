"""Runs agent loops with the clients of Anthropic and OpenAI (responses) for Python and prints what it saw as JSON."""

import asyncio
import json
import sys

from anthropic import APIStatusError, AsyncAnthropic
from openai import AsyncOpenAI

asked = json.load(sys.stdin)
claude = AsyncAnthropic(base_url=asked["base_url"], api_key=asked["api_key"], max_retries=0)
openai = AsyncOpenAI(base_url=asked["base_url"] + "/v1", api_key=asked["api_key"], max_retries=0)

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}


async def with_anthropic(model):
    """Every city that was asked for, and the last text."""
    messages, cities, text = [], [], ""
    for prompt in asked["prompts"]:
        messages.append({"role": "user", "content": "python anthropic " + prompt})
        for _ in range(3):
            async with claude.messages.stream(
                model=model,
                max_tokens=2000,
                messages=messages,
                tools=[{"name": "weather", "input_schema": SCHEMA}],
                thinking={"type": "adaptive"},
            ) as stream:
                answer = await stream.get_final_message()
            messages.append({"role": "assistant", "content": answer.content})
            text = "".join(block.text for block in answer.content if block.type == "text")
            calls = [block for block in answer.content if block.type == "tool_use"]
            if not calls:
                break
            cities += [call.input["city"] for call in calls]
            results = [{"type": "tool_result", "tool_use_id": call.id, "content": "rain"} for call in calls]
            messages.append({"role": "user", "content": results})
    return {"cities": cities, "text": text}


async def with_responses(model):
    """The same with OpenAI's responses."""
    items, cities, text = [], [], ""
    for prompt in asked["prompts"]:
        items.append({"role": "user", "content": "python responses " + prompt})
        for _ in range(3):
            async with openai.responses.stream(
                model=model,
                input=items,
                tools=[{"type": "function", "name": "weather", "parameters": SCHEMA, "strict": False}],
                include=["reasoning.encrypted_content"],
                store=False,
            ) as stream:
                answer = await stream.get_final_response()
            for item in answer.output:
                items.append(item.model_dump(exclude_none=True, exclude={"parsed_arguments": True}))
            text = answer.output_text
            calls = [item for item in answer.output if item.type == "function_call"]
            if not calls:
                break
            cities += [json.loads(call.arguments)["city"] for call in calls]
            items += [{"type": "function_call_output", "call_id": call.call_id, "output": "rain"} for call in calls]
    return {"cities": cities, "text": text}


async def refusal():
    """The error of a model that does not exist, and a count of tokens."""
    messages = [{"role": "user", "content": "hello"}]
    counted = await claude.messages.count_tokens(model=asked["models"][0], messages=messages)
    try:
        await claude.messages.create(model="gpt-1", max_tokens=10, messages=messages)
    except APIStatusError as error:
        return {"status": error.status_code, "type": error.body["error"]["type"], "tokens": counted.input_tokens}
    return None


async def main():
    seen = {"refusal": await refusal(), "anthropic": {}, "responses": {}}
    for model in asked["models"]:
        seen["anthropic"][model] = await with_anthropic(model)
        seen["responses"][model] = await with_responses(model)
    print(json.dumps(seen))


asyncio.run(main())
