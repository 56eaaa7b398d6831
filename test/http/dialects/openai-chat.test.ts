import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { GatewayError } from '../../../src/domain/errors.ts';
import type { JsonValue } from '../../../src/domain/json.ts';
import { openaiCompletion } from '../../../src/http/dialects/openai/openai-chat-reply.ts';
import { readOpenaiChat, readV1OpenaiChat } from '../../../src/http/dialects/openai/openai-chat-request.ts';
import { openaiStream } from '../../../src/http/dialects/openai/openai-chat-stream.ts';
import { mixedCalls, twoCalls } from './mixed-calls.ts';

const hello = [{ role: 'user', content: 'hello' }];
const read = (more: Record<string, unknown> = {}) => readOpenaiChat({ model: 'm', messages: hello, ...more });
const refusal = (more: Record<string, unknown>): { code?: string; param?: string | undefined } => {
  try {
    read(more);
    return {};
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return { code: error.code, param: error.param };
  }
};
const withContent = (content: unknown, role = 'user') => ({ messages: [{ role, content }] });
const tool = { type: 'function', function: { name: 'inspect' } };
const call = { id: 'c1', type: 'function', function: { name: 'inspect', arguments: '{}' } };
const png = 'data:image/png;base64,AAAA';

describe('an OpenAI chat request', () => {
  it('gets the default values of the catalog', () => {
    expect(read()).toEqual({
      model: 'm',
      messages: [{ role: 'user', content: 'hello' }],
      tools: [],
      maxTokens: 1_024,
      isDefaultLength: true,
      temperature: 0.7,
      isDefaultTemperature: true,
      extra: {},
    });
  });

  it('gets no default temperature beside a top_p, because some models refuse the two together', () => {
    const { temperature: _default, isDefaultTemperature: _flag, ...others } = read();
    expect(read({ top_p: 0.9 })).toEqual({ ...others, topP: 0.9 });
    expect(read({ temperature: 0.7 })).not.toHaveProperty('isDefaultTemperature');
    expect(read({ top_p: 0.9, temperature: 0.2 })).toMatchObject({ topP: 0.9, temperature: 0.2 });
    expect(read({ top_p: null })).toMatchObject({ temperature: 0.7 });
  });

  it('accepts a value that changes nothing, and does not pass it on', () => {
    const harmless = {
      store: false,
      service_tier: 'auto',
      frequency_penalty: 0,
      presence_penalty: 0,
      logit_bias: {},
      stream: false,
      n: 1,
      best_of: 1,
      logprobs: false,
      top_logprobs: 0,
      modalities: ['text'],
      prediction: null,
    };
    expect(read(harmless)).toEqual(read());
    expect(read({ service_tier: 'default' }).extra).toEqual({});
  });

  it('leaves further fields to the list of each channel', () => {
    const further = { store: true, service_tier: 'flex', provider: { order: ['a'] }, frequency_penalty: 1 };
    expect(read(further).extra).toEqual(further);
  });

  it('keeps the marks for a prompt cache on parts and tools', () => {
    const cache_control = { type: 'ephemeral', ttl: '1h' };
    const content = [
      { type: 'text', text: 'a', cache_control },
      { type: 'image_url', image_url: { url: png }, cache_control: { type: 'ephemeral' } },
      { type: 'text', text: 'b', cache_control: null },
    ];
    expect(read({ ...withContent(content), tools: [{ ...tool, cache_control }] })).toMatchObject({
      messages: [
        {
          content: [
            { type: 'text', text: 'a', cacheControl: cache_control },
            { type: 'image', url: png, cacheControl: { type: 'ephemeral' } },
            { type: 'text', text: 'b' },
          ],
        },
      ],
      tools: [{ name: 'inspect', cacheControl: cache_control }],
    });
    expect(refusal(withContent([{ type: 'text', text: 'a', cache_control: { type: 'for ever' } }]))).toMatchObject({
      code: 'invalid_value',
      param: 'messages.0.content.0.cache_control.type',
    });
  });

  it('keeps the thoughts of an earlier answer', () => {
    const messages = [...hello, { role: 'assistant', content: 'a', reasoning_content: 'First.' }];
    expect(read({ messages }).messages[1]).toEqual({
      role: 'assistant',
      content: 'a',
      toolCalls: [],
      reasoning: 'First.',
    });
  });

  it('treats null in an optional field as an absent field', () => {
    const fields = [
      'max_tokens',
      'max_completion_tokens',
      'temperature',
      'top_p',
      'stop',
      'seed',
      'user',
      'stream',
      'n',
      'logprobs',
      'tools',
      'tool_choice',
      'parallel_tool_calls',
      'response_format',
      'stream_options',
      'functions',
      'modalities',
      'foo',
    ];
    expect(read(Object.fromEntries(fields.map((field) => [field, null])))).toEqual(read());
  });

  it('accepts every field that an OpenAI client sends', () => {
    const request = read({
      messages: [
        { role: 'developer', content: [{ type: 'text', text: 'Be brief.' }], name: 'ops' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What is it?' },
            { type: 'image_url', image_url: { url: png, detail: 'low' } },
            { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
          ],
        },
        // SDKs send an earlier reply back with all of its members.
        {
          role: 'assistant',
          content: null,
          refusal: null,
          annotations: [],
          audio: null,
          function_call: null,
          tool_calls: [call],
        },
        { role: 'tool', tool_call_id: 'c1', content: 'a fox' },
      ],
      max_completion_tokens: 64,
      max_tokens: 64,
      temperature: 0,
      top_p: 1,
      stop: 'END',
      seed: -1,
      user: 'u',
      stream: false,
      n: 1,
      tools: [
        {
          type: 'function',
          function: { name: 'inspect', description: null, parameters: { type: 'object' }, strict: true },
        },
      ],
      tool_choice: { type: 'function', function: { name: 'inspect' } },
      parallel_tool_calls: false,
      response_format: { type: 'json_schema', json_schema: { name: 'fox', schema: { type: 'object' }, strict: true } },
      service_tier: 'auto',
      modalities: ['text'],
      reasoning_effort: 'low',
      logit_bias: { 50256: -100 },
    });
    expect(request).toEqual({
      model: 'm',
      messages: [
        { role: 'developer', content: [{ type: 'text', text: 'Be brief.' }], name: 'ops' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What is it?' },
            { type: 'image', url: png, detail: 'low' },
            { type: 'image', url: 'https://example.com/a.png' },
          ],
        },
        { role: 'assistant', content: null, toolCalls: [{ id: 'c1', name: 'inspect', arguments: '{}' }] },
        { role: 'tool', toolCallId: 'c1', content: 'a fox' },
      ],
      maxTokens: 64,
      temperature: 0,
      topP: 1,
      stop: ['END'],
      seed: -1,
      user: 'u',
      tools: [{ name: 'inspect', parameters: { type: 'object' }, strict: true }],
      toolChoice: { name: 'inspect' },
      parallelToolCalls: false,
      responseFormat: { type: 'json_schema', name: 'fox', schema: { type: 'object' }, strict: true },
      extra: { reasoning_effort: 'low', logit_bias: { 50256: -100 } },
    });
  });

  it.each<[Record<string, unknown>, string, string]>([
    [{ model: undefined }, 'missing_parameter', 'model'],
    ...[null, 7, '', 'm'.repeat(300)].map((model): [Record<string, unknown>, string, string] => [
      { model },
      'invalid_value',
      'model',
    ]),
    [{ messages: undefined }, 'missing_parameter', 'messages'],
    ...[{}, [], 'hello', null, Array(1_001).fill(hello[0])].map(
      (messages): [Record<string, unknown>, string, string] => [{ messages }, 'invalid_value', 'messages'],
    ),
    [{ messages: [{ role: 'user' }] }, 'missing_parameter', 'messages.0.content'],
    ...[null, 7, {}, []].map((content): [Record<string, unknown>, string, string] => [
      withContent(content),
      'invalid_value',
      'messages.0.content',
    ]),
    [withContent(null, 'assistant'), 'invalid_value', 'messages.0.content'],
    [withContent(''), 'invalid_value', 'messages'],
    [withContent([{ type: 'text', text: '' }]), 'invalid_value', 'messages'],
    [withContent([{ type: 'input_audio', input_audio: {} }]), 'invalid_value', 'messages.0.content.0.type'],
    [withContent([{ type: 'text' }]), 'missing_parameter', 'messages.0.content.0.text'],
    [
      withContent([{ type: 'image_url', image_url: { url: 'a.png' } }]),
      'invalid_value',
      'messages.0.content.0.image_url.url',
    ],
    [
      withContent([{ type: 'image_url', image_url: { url: 'data:text/html;base64,AAAA' } }]),
      'invalid_value',
      'messages.0.content.0.image_url.url',
    ],
    [withContent('x', 'wizard'), 'invalid_value', 'messages.0.role'],
    [{ messages: [{ content: 'x' }] }, 'missing_parameter', 'messages.0.role'],
    [
      { messages: [...hello, { role: 'tool', tool_call_id: 'c9', content: 'x' }] },
      'invalid_value',
      'messages.1.tool_call_id',
    ],
    [
      { messages: [...hello, { role: 'assistant', tool_calls: [{ id: 'c1', function: { name: 'f' } }] }] },
      'missing_parameter',
      'messages.1.tool_calls.0.function.arguments',
    ],
    ...[15, 8_193, 100.5, '100', [], true].map((max_tokens): [Record<string, unknown>, string, string] => [
      { max_tokens },
      'invalid_value',
      'max_tokens',
    ]),
    [{ max_completion_tokens: 15 }, 'invalid_value', 'max_completion_tokens'],
    [{ max_tokens: 100, max_completion_tokens: 101 }, 'invalid_value', 'max_completion_tokens'],
    ...[-0.1, 2.01, '0.7', []].map((temperature): [Record<string, unknown>, string, string] => [
      { temperature },
      'invalid_value',
      'temperature',
    ]),
    [{ stream: 'true' }, 'invalid_value', 'stream'],
    [{ n: 2 }, 'unsupported_parameter', 'n'],
    [{ n: 0 }, 'invalid_value', 'n'],
    [{ functions: [] }, 'unsupported_parameter', 'functions'],
    [{ function_call: 'auto' }, 'unsupported_parameter', 'function_call'],
    [{ logprobs: true }, 'unsupported_parameter', 'logprobs'],
    [{ modalities: ['text', 'audio'] }, 'unsupported_parameter', 'modalities'],
    [{ stream_options: { include_usage: true } }, 'invalid_value', 'stream_options'],
    [{ stream: true, stream_options: { include_all: true } }, 'unsupported_parameter', 'stream_options.include_all'],
    [{ n: 2 }, 'unsupported_parameter', 'n'],
    [{ top_logprobs: 3 }, 'unsupported_parameter', 'top_logprobs'],
    [{ tools: {} }, 'invalid_value', 'tools'],
    [{ tools: [{ type: 'function' }] }, 'missing_parameter', 'tools.0.function'],
    [{ tools: [{ type: 'web_search' }] }, 'invalid_value', 'tools.0.type'],
    [{ tools: [{ type: 'function', function: { name: 'no spaces' } }] }, 'invalid_value', 'tools.0.function.name'],
    [{ tools: [tool], tool_choice: 'sometimes' }, 'invalid_value', 'tool_choice'],
    [{ tools: [tool], tool_choice: { type: 'function', function: { name: 'rest' } } }, 'invalid_value', 'tool_choice'],
    [{ tool_choice: 'required' }, 'invalid_value', 'tool_choice'],
    [{ response_format: { type: 'xml' } }, 'invalid_value', 'response_format.type'],
    [{ response_format: { type: 'json_schema' } }, 'missing_parameter', 'response_format.json_schema'],
    [{ stop: ['a', 'b', 'c', 'd', 'e'] }, 'invalid_value', 'stop'],
    [{ top_p: 1.1 }, 'invalid_value', 'top_p'],
    [{ seed: 1.5 }, 'invalid_value', 'seed'],
    [{ user: 7 }, 'invalid_value', 'user'],
  ])('is refused with the name of the wrong field: %j', (more, code, param) => {
    expect(refusal(more)).toEqual({ code, param });
  });

  it('may have a seed of 64 bits, which becomes the same smaller one each time', () => {
    const seedOf = (seed: number) => readOpenaiChat({ model: 'm', messages: hello, seed }).seed;
    expect([seedOf(-1), seedOf(2 ** 53 - 2)]).toEqual([-1, 2 ** 53 - 2]);
    expect(seedOf(2 ** 63 + 4_096)).toBe(seedOf(2 ** 63 + 4_096));
    expect(Number.isSafeInteger(seedOf(2 ** 63 + 4_096))).toBe(true);
  });

  it('may be in the words of SDKs of Mistral under /v1', () => {
    const image = (image_url: JsonValue) => ({ role: 'user', content: [{ type: 'image_url', image_url }] });
    const tools = [{ type: 'function', function: { name: 'inspect' } }];
    const readBoth = (url: (text: string) => JsonValue, tool_choice: string) =>
      readV1OpenaiChat({ model: 'm', messages: [image(url(png)), image(url(pdf))], tools, tool_choice });
    const pdf = 'data:application/pdf;base64,JVBERi0=';
    expect(readBoth((text) => text, 'any')).toEqual(readBoth((text) => ({ url: text }), 'required'));
    const broken = { model: 'm', messages: [image('a.png')] };
    expect(() => readV1OpenaiChat(broken)).toThrow(
      expect.objectContaining({ code: 'invalid_value', param: 'messages.0.content.0.image_url' }),
    );
  });

  it('that asks for another form of answer is refused with what to send instead under /v1, and in its old words elsewhere', () => {
    const body = { model: 'gpt-5-mini', messages: [{ role: 'user', content: 'hi' }], n: 2 };
    const old = 'The field n is not supported, or not with this value.';
    expect(() => readOpenaiChat(body)).toThrow(expect.objectContaining({ message: old }));
    const now = `${old} Send the request once for each answer.`;
    expect(() => readV1OpenaiChat(body)).toThrow(expect.objectContaining({ message: now }));
  });

  it.each([
    { max_tokens: 16 },
    { max_tokens: 8_192 },
    { max_tokens: 100 },
    { temperature: 0 },
    { temperature: 2 },
    { temperature: 0.75 },
  ])('is accepted at the limits of a field and between its form steps: %j', (more) =>
    expect(refusal(more)).toEqual({}),
  );

  it('may have any length of at least one token under /v1, where it is clamped later', () => {
    const readV1 = (more: Record<string, unknown>) => readV1OpenaiChat({ model: 'm', messages: hello, ...more });
    for (const length of [1, 15, 8_193, Number.MAX_SAFE_INTEGER]) {
      expect(readV1({ max_tokens: length })).toEqual({ ...read({ max_tokens: 16 }), maxTokens: length });
      expect(readV1({ max_completion_tokens: length }).maxTokens).toBe(length);
    }
    for (const length of [0, -1, 1.5, '100', 1e300]) expect(() => readV1({ max_tokens: length })).toThrow('max_tokens');
    const silent = { messages: [...hello, { role: 'assistant', reasoning_content: 'Hm.' }] };
    expect(readV1(silent).messages[1]).toEqual({ role: 'assistant', content: '', toolCalls: [], reasoning: 'Hm.' });
    expect(readV1({ service_tier: 'flex' })).toEqual(read({ service_tier: 'flex' }));
  });

  it('either parses or throws a GatewayError for arbitrary JSON', () => {
    fc.assert(
      fc.property(
        fc.record({ messages: fc.anything(), tools: fc.jsonValue(), stop: fc.jsonValue() }, { requiredKeys: [] }),
        (more) => {
          expect(() => refusal(more)).not.toThrow();
        },
      ),
    );
  });
});

describe('the chat completion object', () => {
  const answer = {
    id: 'chatcmpl-1',
    created: 1_763_700_000,
    model: 'm',
    usage: { input: 12, output: 5 },
    reply: { content: 'Hi.', refusal: null, toolCalls: [], finishReason: 'stop', usage: null },
  } as const;

  it('has every member that clients read', () => {
    expect(openaiCompletion({ ...answer, reply: { ...answer.reply, toolCalls: [] } })).toEqual({
      id: 'chatcmpl-1',
      object: 'chat.completion',
      created: 1_763_700_000,
      model: 'm',
      system_fingerprint: 'fp_tollgate',
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: 'Hi.', refusal: null },
          logprobs: null,
          finish_reason: 'stop',
        },
      ],
      usage: {
        prompt_tokens: 12,
        completion_tokens: 5,
        total_tokens: 17,
        prompt_tokens_details: { cached_tokens: 0, cache_write_tokens: 0, audio_tokens: 0 },
        completion_tokens_details: {
          reasoning_tokens: 0,
          audio_tokens: 0,
          accepted_prediction_tokens: 0,
          rejected_prediction_tokens: 0,
        },
      },
    });
  });

  it('includes tool calls and caps each token detail at its total', () => {
    const reply = {
      content: null,
      refusal: null,
      toolCalls: [{ id: 'c1', name: 'f', arguments: '{}', signature: 'S' }],
      finishReason: 'tool_calls' as const,
      usage: { inputTokens: 12, outputTokens: 5, cachedTokens: 4, reasoningTokens: 900 },
    };
    expect(openaiCompletion({ ...answer, reply })).toMatchObject({
      choices: [
        {
          message: {
            content: null,
            tool_calls: [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } }],
          },
        },
      ],
      usage: { prompt_tokens_details: { cached_tokens: 4 }, completion_tokens_details: { reasoning_tokens: 5 } },
    });
  });

  it('has a message that clients can send back unchanged', () => {
    const toolCalls = [{ id: 'c1', name: 'f', arguments: '{}', signature: 'S' }];
    const reply = { ...answer.reply, content: null, toolCalls, reasoning: 'First.' };
    const [choice] = openaiCompletion({ ...answer, reply }).choices as { message: object }[];
    expect(choice?.message).toMatchObject({ content: null, reasoning_content: 'First.' });
    expect(read({ messages: [...hello, choice?.message] }).messages[1]).toMatchObject({
      toolCalls,
      reasoning: 'First.',
    });
  });
});

interface Chunk {
  choices: {
    delta: {
      content?: string;
      tool_calls?: [{ index: number; id?: string; function: { name?: string; arguments: string } }];
    };
  }[];
}

describe('a streamed chat completion with several tool calls', () => {
  // LangChain4j for Java takes a call for whole as soon as a piece of another one comes.
  it.each(mixedCalls)('has each call whole before the next one begins, when their pieces %s', (_how, deltas) => {
    const writer = openaiStream({
      id: 'chatcmpl_1',
      created: 1,
      model: 'm',
      requestId: 'req_1',
      inputTokens: 1,
      includeUsage: false,
    });
    const reply = {
      content: null,
      refusal: null,
      toolCalls: twoCalls,
      finishReason: 'tool_calls' as const,
      usage: null,
    };
    const events =
      deltas.map((delta) => writer.pieces([delta])).join('') +
      writer.end({ reply, usage: { input: 1, output: 1 }, credits: 1, attempts: 1 });
    const chunks = events.match(/(?<=^data: )\{.*/gm)?.map((line) => JSON.parse(line) as Chunk) ?? [];
    const pieces = chunks.map(({ choices: [choice] }) => choice?.delta ?? {});
    const calls = pieces.flatMap((delta) => delta.tool_calls ?? []);
    const order = calls.map(({ index }) => index);
    expect(order).toEqual(order.toSorted((a, b) => a - b));
    expect(
      [0, 1].map((index) => {
        const own = calls.filter((call) => call.index === index);
        const text = own.map((call) => call.function.arguments).join('');
        return { id: own[0]?.id, name: own[0]?.function.name, arguments: text };
      }),
    ).toEqual(twoCalls);
    const text = pieces.map(({ content = '' }) => content).join('');
    expect(text).toBe(deltas.some(({ kind }) => kind === 'text') ? 'Let me see.' : '');
  });
});

it('every chunk of a stream has a fingerprint, without which Cerebras’ SDK reads none', () => {
  const about = { id: 'chatcmpl_1', created: 1, model: 'm', requestId: 'req_1', inputTokens: 1, includeUsage: true };
  const writer = openaiStream(about);
  const reply = { content: 'Hi.', refusal: null, toolCalls: [], finishReason: 'stop' as const, usage: null };
  const events =
    writer.pieces([{ kind: 'text', text: 'Hi.' }]) +
    writer.end({ reply, usage: { input: 1, output: 1 }, credits: 1, attempts: 1 }) +
    openaiStream(about).error(new GatewayError('internal_error'));
  const chunks = events.match(/(?<=^data: )\{.*/gm)?.map((line): unknown => JSON.parse(line)) ?? [];
  expect(chunks).toHaveLength(4);
  for (const chunk of chunks) expect(chunk).toMatchObject({ system_fingerprint: 'fp_tollgate' });
});
