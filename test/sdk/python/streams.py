"""Streams chats with OpenAI's client for Python and prints what it saw as JSON. The address and the key come on standard input."""

import asyncio
import json
import sys

from openai import APIError, AsyncOpenAI

asked = json.load(sys.stdin)
client = AsyncOpenAI(base_url=asked["base_url"], api_key=asked["api_key"], max_retries=0)

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "weather",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
        },
    }
]


def begin(model, messages, **fields):
    return client.chat.completions.create(model=model, messages=messages, stream=True, **fields)


def user(text):
    return {"role": "user", "content": text}


async def text_and_usage(model):
    """All text of an answer, and the counts of its last chunk."""
    stream = await begin(model, [user("python [[tokens=12 rate=2]]")], stream_options={"include_usage": True})
    text, tokens, pieces = "", None, 0
    async for chunk in stream:
        if chunk.usage is not None:
            tokens = chunk.usage.completion_tokens
        for choice in chunk.choices:
            text += choice.delta.content or ""
            pieces += 1 if choice.delta.content else 0
    return {"words": len(text.split()), "tokens": tokens, "pieces": pieces}


async def tools_over_two_turns(model):
    """The arguments of the call that the first answer makes, and the text of the second."""
    messages = [user('weather? [[tool=weather args={"city":"Oslo"}]]')]
    stream = await begin(model, messages, tools=TOOLS)
    call = {"id": "", "type": "function", "function": {"name": "", "arguments": ""}}
    async for chunk in stream:
        for choice in chunk.choices:
            for piece in choice.delta.tool_calls or []:
                call["id"] += piece.id or ""
                call["function"]["name"] += piece.function.name or ""
                call["function"]["arguments"] += piece.function.arguments or ""
    messages += [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": call["id"], "content": "rain"},
    ]
    text = ""
    async for chunk in await begin(model, messages, tools=TOOLS):
        for choice in chunk.choices:
            text += choice.delta.content or ""
    return {"called": call["function"], "text": text}


async def leave(model, prompt):
    """Leaves after the first piece of text."""
    stream = await begin(model, [user(prompt)], max_tokens=4000)
    async for chunk in stream:
        if chunk.choices and chunk.choices[0].delta.content:
            break
    await stream.close()


async def leave_before_the_answer(model, prompt):
    """Leaves while the answer is awaited."""
    waiting = asyncio.ensure_future(begin(model, [user(prompt)]))
    await asyncio.wait([waiting], timeout=1)
    waiting.cancel()
    try:
        await waiting
    except asyncio.CancelledError:
        return "cancelled"
    return "answered"


async def break_off(model):
    """The text before an error, and the error's code."""
    text = ""
    try:
        prompt = "broken for python [[tokens=50 rate=200 break=10]]"
        async for chunk in await begin(model, [user(prompt)], max_tokens=2000):
            for choice in chunk.choices:
                text += choice.delta.content or ""
    except APIError as error:
        return {"words": len(text.split()), "code": error.code}
    return {"words": len(text.split()), "code": None}


async def main():
    seen = {}
    # Pieces that arrive together become one, and a busy gateway may read those of seconds together.
    texts = await asyncio.gather(*(text_and_usage(model) for model in asked["models"]))
    for model, text in zip(asked["models"], texts):
        seen[model] = {"text": text, "tools": await tools_over_two_turns(model)}
    await leave(asked["live"], asked["leave"])
    seen["left"] = await leave_before_the_answer(asked["buffered"], asked["leave_buffered"])
    seen["broken"] = {model: await break_off(model) for model in (asked["live"], asked["buffered"])}
    print(json.dumps(seen))


asyncio.run(main())
