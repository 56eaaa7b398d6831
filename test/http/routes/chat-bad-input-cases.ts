import { z } from 'zod';

/** A chat that must be refused with this field and code. The default is `invalid_value` or `missing_parameter`. */
interface FieldCase {
  what: string;
  /** Overrides and adds fields of a valid request. `undefined` removes a field. */
  fields: Record<string, unknown>;
  param: string | null;
  code?: string;
  status?: number;
}

export const long = (characters: number) => 'x'.repeat(characters);

export const user = (content: unknown) => ({ messages: [{ role: 'user', content }] });

export const tool = { type: 'function', function: { name: 'inspect', parameters: { type: 'object' } } };

const call = { id: 'call_1', type: 'function', function: { name: 'inspect', arguments: '{}' } };

const image = (url: unknown) => user([{ type: 'image_url', image_url: { url } }]);

const unsupported = 'unsupported_parameter';

export const modelCases: FieldCase[] = [
  { what: 'no model', fields: { model: undefined }, param: 'model', code: 'missing_parameter' },
  { what: 'a null model', fields: { model: null }, param: 'model' },
  { what: 'a number as model', fields: { model: 5 }, param: 'model' },
  { what: 'an object as model', fields: { model: { id: 'gpt-5-mini' } }, param: 'model' },
  { what: 'an empty model', fields: { model: '' }, param: 'model' },
  { what: 'a model of 300 characters', fields: { model: long(300) }, param: 'model' },
  { what: 'an unknown model', fields: { model: 'gpt-99' }, param: 'model', code: 'model_not_found', status: 404 },
  {
    what: 'a property name of Object.prototype as model',
    fields: { model: 'toString' },
    param: 'model',
    code: 'model_not_found',
    status: 404,
  },
  {
    what: 'an inactive model',
    fields: { model: 'stable-diffusion-3.5' },
    param: 'model',
    code: 'model_not_found',
    status: 404,
  },
  { what: 'an image model', fields: { model: 'aurora-image-1' }, param: 'model', code: 'model_type_mismatch' },
  { what: 'a video model', fields: { model: 'veo-3.1' }, param: 'model', code: 'model_type_mismatch' },
];

export const messageCases: FieldCase[] = [
  { what: 'no messages', fields: { messages: undefined }, param: 'messages', code: 'missing_parameter' },
  { what: 'null messages', fields: { messages: null }, param: 'messages' },
  { what: 'an object as messages', fields: { messages: {} }, param: 'messages' },
  { what: 'a string as messages', fields: { messages: 'hello' }, param: 'messages' },
  { what: 'empty messages', fields: { messages: [] }, param: 'messages' },
  {
    what: '1,001 messages',
    fields: { messages: Array.from({ length: 1_001 }, () => ({ role: 'user', content: 'a' })) },
    param: 'messages',
  },
  { what: 'a string as message', fields: { messages: ['hello'] }, param: 'messages.0' },
  { what: 'a null message', fields: { messages: [null] }, param: 'messages.0' },
  { what: 'no role', fields: { messages: [{ content: 'hello' }] }, param: 'messages.0.role' },
  { what: 'an unknown role', fields: { messages: [{ role: 'boss', content: 'hello' }] }, param: 'messages.0.role' },
  {
    what: 'no content',
    fields: { messages: [{ role: 'user' }] },
    param: 'messages.0.content',
    code: 'missing_parameter',
  },
  { what: 'null content', fields: user(null), param: 'messages.0.content' },
  { what: 'a number as content', fields: user(7), param: 'messages.0.content' },
  { what: 'an object as content', fields: user({ text: 'hello' }), param: 'messages.0.content' },
  { what: 'an empty list of content parts', fields: user([]), param: 'messages.0.content' },
  {
    what: 'empty content in all messages',
    fields: {
      messages: [
        { role: 'system', content: '' },
        { role: 'user', content: '' },
      ],
    },
    param: 'messages',
  },
  { what: 'only empty text parts', fields: user([{ type: 'text', text: '' }]), param: 'messages' },
  { what: 'an unknown part type', fields: user([{ type: 'video', url: 'x' }]), param: 'messages.0.content.0.type' },
  { what: 'a part without a type', fields: user([{ text: 'hello' }]), param: 'messages.0.content.0.type' },
  { what: 'a string as part', fields: user(['hello']), param: 'messages.0.content.0' },
  { what: 'a number as text', fields: user([{ type: 'text', text: 7 }]), param: 'messages.0.content.0.text' },
  ...[
    'http://example.com/a.png',
    'file:///etc/passwd',
    'https://10.0.0.1/a.png',
    'https://169.254.169.254/latest/meta-data',
    'https://[fd00::1]/a.png',
    'https://0xa000001/a.png',
    'https://localhost/a.png',
    'https://files.internal/a.png',
    'https://user:password@example.com/a.png',
    'https://example.com:8443/a.png',
  ].map((url) => ({
    what: `an image at ${url}`,
    fields: user([
      { type: 'text', text: 'what?' },
      { type: 'image_url', image_url: { url } },
    ]),
    param: 'messages.0.content.1.image_url.url',
    code: 'invalid_url',
  })),
  ...['a.png', '', 'data:text/html;base64,aGVsbG8=', 'data:image/png,x', 7].map((url) => ({
    what: `an image at ${JSON.stringify(url)}`,
    fields: image(url),
    param: 'messages.0.content.0.image_url.url',
  })),
  {
    what: 'an image in a system message',
    fields: { messages: [{ role: 'system', content: image('https://example.com/a.png').messages[0]?.content }] },
    param: 'messages.0.content.0.type',
  },
  {
    what: 'an image for a model that accepts none',
    fields: { model: 'deepseek-v3.2', ...image('https://example.com/a.png') },
    param: 'messages',
    code: unsupported,
  },
  {
    what: 'an assistant message without content',
    fields: { messages: [{ role: 'assistant' }] },
    param: 'messages.0.content',
  },
  {
    what: 'a tool message without a matching tool call',
    fields: {
      messages: [
        { role: 'user', content: 'a' },
        { role: 'tool', tool_call_id: 'call_9', content: 'b' },
      ],
    },
    param: 'messages.1.tool_call_id',
  },
  {
    what: 'a tool message without tool_call_id',
    fields: { messages: [{ role: 'tool', content: 'b' }] },
    param: 'messages.0.tool_call_id',
  },
  {
    what: 'a tool call whose arguments are not a string',
    fields: {
      messages: [{ role: 'assistant', tool_calls: [{ ...call, function: { name: 'inspect', arguments: {} } }] }],
    },
    param: 'messages.0.tool_calls.0.function.arguments',
  },
  {
    what: 'more text than the context of the model holds',
    fields: user('word '.repeat(600_000)),
    param: 'messages',
    code: 'context_length_exceeded',
  },
];

export const tuningCases: FieldCase[] = [
  ...[15, 8_193, 0, -1, 100.5, '100', [], true, 1e300].map((max_tokens) => ({
    what: `max_tokens ${JSON.stringify(max_tokens)}`,
    fields: { max_tokens },
    param: 'max_tokens',
  })),
  { what: 'max_completion_tokens 9000', fields: { max_completion_tokens: 9_000 }, param: 'max_completion_tokens' },
  {
    what: 'max_tokens and max_completion_tokens that differ',
    fields: { max_tokens: 100, max_completion_tokens: 200 },
    param: 'max_completion_tokens',
  },
  ...[-0.1, 2.01, '0.7', [], {}, true].map((temperature) => ({
    what: `temperature ${JSON.stringify(temperature)}`,
    fields: { temperature },
    param: 'temperature',
  })),
  ...[-0.1, 1.1, '1'].map((top_p) => ({ what: `top_p ${JSON.stringify(top_p)}`, fields: { top_p }, param: 'top_p' })),
  { what: 'five stop sequences', fields: { stop: ['a', 'b', 'c', 'd', 'e'] }, param: 'stop' },
  { what: 'an empty stop sequence', fields: { stop: '' }, param: 'stop' },
  { what: 'seed 1.5', fields: { seed: 1.5 }, param: 'seed' },
  { what: 'a number as user', fields: { user: 7 }, param: 'user' },
  {
    what: 'stream_options without stream',
    fields: { stream_options: { include_usage: true } },
    param: 'stream_options',
  },
  { what: 'stream "true"', fields: { stream: 'true' }, param: 'stream' },
  { what: 'stream 1', fields: { stream: 1 }, param: 'stream' },
  { what: 'n 2', fields: { n: 2 }, param: 'n', code: unsupported },
  { what: 'n 0', fields: { n: 0 }, param: 'n' },
  { what: 'n "1"', fields: { n: '1' }, param: 'n' },
  {
    what: 'the retired functions',
    fields: { functions: [{ name: 'inspect' }] },
    param: 'functions',
    code: unsupported,
  },
  { what: 'the retired function_call', fields: { function_call: 'auto' }, param: 'function_call', code: unsupported },
  { what: 'logprobs', fields: { logprobs: true }, param: 'logprobs', code: unsupported },
  { what: 'audio as modality', fields: { modalities: ['text', 'audio'] }, param: 'modalities', code: unsupported },
  { what: 'another service_tier', fields: { service_tier: 'priority' }, param: 'service_tier', code: unsupported },
  ...Object.entries({
    store: true,
    models: ['gpt-5'],
    fallbacks: ['gpt-5'],
    provider: { order: ['dear'] },
    enable_search: true,
    web_search_options: {},
    plugins: [{ id: 'web' }],
    chat_template: '{{ messages }}',
    prediction: { type: 'content', content: 'x' },
    frequency_penalty: 1,
    logit_bias: { 50256: -100 },
    safety_identifier: 'user-1',
  }).map(([param, value]) => ({
    what: `the unlisted field ${param}`,
    fields: { [param]: value },
    param,
    code: unsupported,
  })),
  {
    what: 'reasoning_effort for a provider family without it',
    fields: { model: 'claude-sonnet-4.5', reasoning_effort: 'low' },
    param: 'reasoning_effort',
    code: unsupported,
  },
  {
    what: 'an unlisted field for a provider family that accepts none',
    fields: { model: 'claude-sonnet-4.5', colour: 'red' },
    param: 'colour',
    code: unsupported,
  },
  {
    what: 'a seed for a provider family without seeds',
    fields: { model: 'claude-sonnet-4.5', seed: 7 },
    param: 'seed',
    code: unsupported,
  },
];

export const toolCases: FieldCase[] = [
  { what: 'an object as tools', fields: { tools: {} }, param: 'tools' },
  { what: 'a tool of another type', fields: { tools: [{ type: 'web_search' }] }, param: 'tools.0.type' },
  { what: 'a tool without a function', fields: { tools: [{ type: 'function' }] }, param: 'tools.0.function' },
  {
    what: 'a tool without a name',
    fields: { tools: [{ type: 'function', function: {} }] },
    param: 'tools.0.function.name',
  },
  {
    what: 'a tool with an invalid name',
    fields: { tools: [{ type: 'function', function: { name: 'a b' } }] },
    param: 'tools.0.function.name',
  },
  {
    what: 'a list as parameters of a tool',
    fields: { tools: [{ type: 'function', function: { name: 'a', parameters: [] } }] },
    param: 'tools.0.function.parameters',
  },
  { what: '129 tools', fields: { tools: Array.from({ length: 129 }, () => tool) }, param: 'tools' },
  {
    what: 'a tool_choice that tools does not contain',
    fields: { tools: [tool], tool_choice: { type: 'function', function: { name: 'fly' } } },
    param: 'tool_choice',
  },
  { what: 'a tool_choice without tools', fields: { tool_choice: 'required' }, param: 'tool_choice' },
  { what: 'an invalid tool_choice', fields: { tools: [tool], tool_choice: 'maybe' }, param: 'tool_choice' },
  { what: 'a string as response_format', fields: { response_format: 'json' }, param: 'response_format' },
  { what: 'an unknown response_format', fields: { response_format: { type: 'xml' } }, param: 'response_format.type' },
  {
    what: 'a schema without a name',
    fields: { response_format: { type: 'json_schema', json_schema: {} } },
    param: 'response_format.json_schema.name',
  },
];

export const Failure = z.strictObject({
  error: z.strictObject({
    message: z.string().min(1),
    type: z.string(),
    param: z.string().nullable(),
    code: z.string(),
  }),
});
