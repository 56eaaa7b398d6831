import type { JsonObject } from '../../src/domain/json.ts';
import { citySchema, toolsOf, weather, type RequestFile, type DialectClient } from './dialect-client.ts';
import { countAt, listAt, objectAt, parsed, textAt } from './json-at.ts';

const toDocument = ({ type, name, base64 }: RequestFile) => ({
  type: 'document',
  title: name,
  source:
    type === 'text/plain'
      ? { type: 'text', media_type: type, data: Buffer.from(base64, 'base64').toString() }
      : { type: 'base64', media_type: type, data: base64 },
});

/** Anthropic's Messages. */
export const messages: DialectClient = {
  path: () => '/v1/messages',
  body: (ask) => ({
    model: ask.model,
    max_tokens: ask.maxTokens ?? 1_000,
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: ask.prompt },
          ...(ask.picture
            ? [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: ask.picture } }]
            : []),
          ...(ask.file ? [toDocument(ask.file)] : []),
        ],
      },
      ...(ask.answered
        ? [
            { role: 'assistant', content: ask.answered.turn },
            {
              role: 'user',
              content: ask.answered.results.map(({ callId, text, picture, file }) => ({
                type: 'tool_result',
                tool_use_id: callId,
                content: picture
                  ? [
                      { type: 'text', text },
                      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: picture } },
                    ]
                  : file
                    ? [{ type: 'text', text }, toDocument(file)]
                    : text,
              })),
            },
          ]
        : []),
    ],
    ...(ask.hasTool && {
      tools: toolsOf(ask).map(({ parameters, ...tool }) => ({ ...tool, input_schema: parameters })),
    }),
    ...(ask.choice && { tool_choice: ask.choice === 'any' ? { type: 'any' } : { type: 'tool', name: weather.name } }),
    ...((ask.isStructured || ask.isThinking) && {
      output_config: {
        ...(ask.isStructured && { format: { type: 'json_schema', schema: citySchema } }),
        ...(ask.isThinking && { effort: 'high' }),
      },
    }),
    ...(ask.isThinking && { thinking: { type: 'adaptive' } }),
    ...(ask.stop !== undefined && { stop_sequences: [ask.stop] }),
    ...(ask.isStream && { stream: true }),
  }),
  read(answer) {
    const blocks = listAt(answer, 'content');
    const usage = objectAt(answer, 'usage');
    const cached = countAt(usage, 'cache_read_input_tokens');
    return {
      text: blocks.map((block) => textAt(block, 'text')).join(''),
      thoughts: blocks.map((block) => textAt(block, 'thinking')).join(''),
      calls: blocks
        .filter(({ type }) => type === 'tool_use')
        .map((block) => ({
          id: textAt(block, 'id'),
          name: textAt(block, 'name'),
          arguments: objectAt(block, 'input'),
        })),
      finish: textAt(answer, 'stop_reason'),
      usage: {
        // Anthropic counts the cached input apart.
        input: countAt(usage, 'input_tokens') + cached,
        output: countAt(usage, 'output_tokens'),
        cached,
        thoughts: countAt(usage, 'output_tokens_details', 'thinking_tokens'),
      },
      turn: blocks,
    };
  },
  join(events) {
    const content: JsonObject[] = [];
    const inputs: string[] = [];
    let end: JsonObject = {};
    for (const event of events) {
      const index = countAt(event, 'index');
      const delta = objectAt(event, 'delta');
      if (event.type === 'content_block_start') content[index] = objectAt(event, 'content_block');
      if (event.type === 'message_delta') end = event;
      if (event.type !== 'content_block_delta') continue;
      const block = content[index] ?? {};
      if (delta.type === 'text_delta') block.text = textAt(block, 'text') + textAt(delta, 'text');
      if (delta.type === 'thinking_delta') block.thinking = textAt(block, 'thinking') + textAt(delta, 'thinking');
      if (delta.type === 'signature_delta') block.signature = textAt(block, 'signature') + textAt(delta, 'signature');
      if (delta.type === 'input_json_delta') {
        inputs[index] = (inputs[index] ?? '') + textAt(delta, 'partial_json');
      }
    }
    const whole = content.map((block, index) =>
      inputs[index] === undefined ? block : { ...block, input: objectAt(parsed(inputs[index])) },
    );
    return { content: whole, ...objectAt(end, 'delta'), usage: objectAt(end, 'usage') };
  },
  finishes: { end: 'end_turn', length: 'max_tokens', tool: 'tool_use', stopSequence: 'end_turn' },
  error: ({ error }) => ({ code: textAt(error, 'details', 'error_code'), param: textAt(error, 'details', 'param') }),
};
