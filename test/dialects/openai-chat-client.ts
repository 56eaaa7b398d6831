import type { JsonObject } from '../../src/domain/json.ts';
import { citySchema, toolsOf, weather, type RequestFile, type DialectClient } from './dialect-client.ts';
import { countAt, listAt, objectAt, parsed, textAt } from './json-at.ts';

const named = { type: 'function', function: { name: weather.name } };
const choices = {
  weather: named,
  any: 'required',
  allowed: { type: 'allowed_tools', allowed_tools: { mode: 'required', tools: [named] } },
};

const toFile = ({ type, name, base64 }: RequestFile) => ({
  type: 'file',
  file: { filename: name, file_data: `data:${type};base64,${base64}` },
});

/** OpenAI's chat completions. */
export const openaiChat: DialectClient = {
  path: () => '/v1/chat/completions',
  body: (ask) => ({
    model: ask.model,
    messages: [
      {
        role: 'user',
        content: ask.picture
          ? [
              { type: 'text', text: ask.prompt },
              { type: 'image_url', image_url: { url: `data:image/png;base64,${ask.picture}` } },
            ]
          : ask.file
            ? [{ type: 'text', text: ask.prompt }, toFile(ask.file)]
            : ask.prompt,
      },
      ...(ask.answered
        ? [
            ask.answered.turn,
            ...ask.answered.results.map(({ callId, text, picture, file }) => ({
              role: 'tool',
              tool_call_id: callId,
              content: picture
                ? [
                    { type: 'text', text },
                    { type: 'image_url', image_url: { url: `data:image/png;base64,${picture}` } },
                  ]
                : file
                  ? [{ type: 'text', text }, toFile(file)]
                  : text,
            })),
          ]
        : []),
    ],
    ...(ask.maxTokens !== undefined && { max_tokens: ask.maxTokens }),
    ...(ask.hasTool && { tools: toolsOf(ask).map((tool) => ({ type: 'function', function: tool })) }),
    ...(ask.choice && { tool_choice: choices[ask.choice] }),
    ...(ask.isStructured && {
      response_format: { type: 'json_schema', json_schema: { name: 'city', schema: citySchema, strict: true } },
    }),
    ...(ask.isThinking && { reasoning_effort: 'high' }),
    ...(ask.stop !== undefined && { stop: [ask.stop] }),
    ...(ask.isStream && { stream: true, stream_options: { include_usage: true } }),
  }),
  read(answer) {
    const choice = objectAt(answer, 'choices', 0);
    const message = objectAt(choice, 'message');
    return {
      text: textAt(message, 'content'),
      thoughts: textAt(message, 'reasoning_content'),
      calls: listAt(message, 'tool_calls').map((call) => ({
        id: textAt(call, 'id'),
        name: textAt(call, 'function', 'name'),
        arguments: parsed(textAt(call, 'function', 'arguments')),
      })),
      finish: textAt(choice, 'finish_reason'),
      usage: {
        input: countAt(answer, 'usage', 'prompt_tokens'),
        output: countAt(answer, 'usage', 'completion_tokens'),
        cached: countAt(answer, 'usage', 'prompt_tokens_details', 'cached_tokens'),
        thoughts: countAt(answer, 'usage', 'completion_tokens_details', 'reasoning_tokens'),
      },
      turn: message,
    };
  },
  join(events) {
    const calls: JsonObject[] = [];
    const message = { role: 'assistant', content: '', reasoning_content: '' };
    let finish = '';
    for (const event of events) {
      const delta = objectAt(event, 'choices', 0, 'delta');
      message.content += textAt(delta, 'content');
      message.reasoning_content += textAt(delta, 'reasoning_content');
      finish = textAt(event, 'choices', 0, 'finish_reason') || finish;
      for (const piece of listAt(delta, 'tool_calls')) {
        const before = calls[countAt(piece, 'index')];
        const call = before ?? { ...piece, function: { name: textAt(piece, 'function', 'name'), arguments: '' } };
        const argumentsText = textAt(call, 'function', 'arguments') + textAt(piece, 'function', 'arguments');
        calls[countAt(piece, 'index')] = {
          ...call,
          function: { ...objectAt(call, 'function'), arguments: argumentsText },
        };
      }
    }
    const whole = { ...message, ...(calls.length > 0 && { tool_calls: calls.map(({ index: _, ...call }) => call) }) };
    return {
      choices: [{ message: whole, finish_reason: finish }],
      usage: objectAt(events.at(-1), 'usage'),
      tollgate: objectAt(events.at(-1), 'tollgate'),
    };
  },
  finishes: { end: 'stop', length: 'length', tool: 'tool_calls', stopSequence: 'stop' },
  error: ({ error }) => ({ code: textAt(error, 'code'), param: textAt(error, 'param') }),
};
