import { citySchema, toolsOf, weather, type RequestFile, type DialectClient } from './dialect-client.ts';
import { countAt, listAt, objectAt, parsed, textAt } from './json-at.ts';

const named = { type: 'function', name: weather.name };
const choices = {
  weather: named,
  any: 'required',
  allowed: { type: 'allowed_tools', mode: 'required', tools: [named] },
};

const toFile = ({ type, name, base64 }: RequestFile) => ({
  type: 'input_file',
  filename: name,
  file_data: `data:${type};base64,${base64}`,
});

/** OpenAI's Responses. */
export const responses: DialectClient = {
  path: () => '/v1/responses',
  body: (ask) => ({
    model: ask.model,
    input: [
      {
        role: 'user',
        content: [
          { type: 'input_text', text: ask.prompt },
          ...(ask.picture ? [{ type: 'input_image', image_url: `data:image/png;base64,${ask.picture}` }] : []),
          ...(ask.file ? [toFile(ask.file)] : []),
        ],
      },
      ...(ask.answered
        ? [
            ...(Array.isArray(ask.answered.turn) ? ask.answered.turn : []),
            ...ask.answered.results.map(({ callId, text, picture, file }) => ({
              type: 'function_call_output',
              call_id: callId,
              output: picture
                ? [
                    { type: 'input_text', text },
                    { type: 'input_image', image_url: `data:image/png;base64,${picture}` },
                  ]
                : file
                  ? [{ type: 'input_text', text }, toFile(file)]
                  : text,
            })),
          ]
        : []),
    ],
    ...(ask.maxTokens !== undefined && { max_output_tokens: ask.maxTokens }),
    ...(ask.hasTool && { tools: toolsOf(ask).map((tool) => ({ type: 'function', strict: false, ...tool })) }),
    ...(ask.choice && { tool_choice: choices[ask.choice] }),
    ...(ask.isStructured && {
      text: { format: { type: 'json_schema', name: 'city', schema: citySchema, strict: true } },
    }),
    ...(ask.isThinking && {
      reasoning: { effort: 'high', summary: 'auto' },
      include: ['reasoning.encrypted_content'],
    }),
    ...(ask.isStream && { stream: true }),
  }),
  read(answer) {
    const items = listAt(answer, 'output');
    const calls = items.filter(({ type }) => type === 'function_call');
    const status = textAt(answer, 'status');
    return {
      text: items.flatMap((item) => listAt(item, 'content').map((part) => textAt(part, 'text'))).join(''),
      thoughts: items.flatMap((item) => listAt(item, 'summary').map((part) => textAt(part, 'text'))).join(''),
      calls: calls.map((call) => ({
        id: textAt(call, 'call_id'),
        name: textAt(call, 'name'),
        arguments: parsed(textAt(call, 'arguments')),
      })),
      finish: status === 'incomplete' ? textAt(answer, 'incomplete_details', 'reason') : status,
      usage: {
        input: countAt(answer, 'usage', 'input_tokens'),
        output: countAt(answer, 'usage', 'output_tokens'),
        cached: countAt(answer, 'usage', 'input_tokens_details', 'cached_tokens'),
        thoughts: countAt(answer, 'usage', 'output_tokens_details', 'reasoning_tokens'),
      },
      turn: items,
    };
  },
  join: (events) => objectAt(events.at(-1), 'response'),
  finishes: { end: 'completed', length: 'max_output_tokens', tool: 'completed', stopSequence: '' },
  error: ({ error }) => ({ code: textAt(error, 'code'), param: textAt(error, 'param') }),
};
