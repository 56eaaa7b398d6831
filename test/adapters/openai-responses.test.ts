import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type OpenAI from 'openai';
import { createOpenai } from '../../src/adapters/openai.ts';
import { createUpstreamCaller, type UpstreamCaller } from '../../src/adapters/upstream/call-upstream.ts';
import type { UpstreamChat, VendorFields } from '../../src/domain/chat/chat.ts';
import type { JsonObject } from '../../src/domain/json.ts';
import { unsupportedBy } from '../../src/domain/chat/chat-supports.ts';
import { createSandbox, type Sandbox } from '../../packages/sandbox/src/create-sandbox.ts';
import { fullRequest } from './chat-adapter-suite.ts';
import { openWire, type Wire } from './open-wire.ts';
import { savedJson } from './saved-replies.ts';

const saved = savedJson('openai');

describe('the Responses API of the OpenAI adapter', () => {
  let wire: Wire;
  beforeAll(async () => {
    wire = await openWire({ create: createOpenai, credential: 'k' });
  });
  afterAll(() => wire.close());

  const traits = { api: 'responses' } as const;
  const responsesRequest: UpstreamChat = { ...fullRequest, traits, temperature: undefined, stop: undefined };
  const warningOf = (effort: string) => `reasoning_effort was sent as ${effort}, the nearest that this model takes.`;

  it('is sent the whole conversation with the results of its tools, and stores nothing', async () => {
    const { sent, body } = await wire.chat({
      ...responsesRequest,
      parallelToolCalls: false,
      responseFormat: { type: 'json_schema', name: 'fox', schema: { type: 'object' }, strict: true },
      extra: { reasoning_effort: 'low', verbosity: 'low', prompt_cache_key: 'k' },
    });
    expect(sent.path).toBe('/responses');
    expect(body).toEqual({
      model: 'upstream-model',
      input: [
        { role: 'system', content: 'Be brief.' },
        {
          role: 'user',
          content: [
            { type: 'input_text', text: 'What is it?' },
            { type: 'input_image', image_url: 'data:image/png;base64,iVBORw0KGgo=', detail: 'auto' },
          ],
        },
        { role: 'assistant', content: 'Let me look.' },
        { type: 'function_call', call_id: 'call_1', name: 'look', arguments: '{"zoom":2}' },
        { type: 'function_call', call_id: 'call.2', name: 'look', arguments: '{"zoom":' },
        { type: 'function_call_output', call_id: 'call_1', output: '{"seen":"a fox"}' },
        { type: 'function_call_output', call_id: 'call.2', output: 'nothing' },
        { role: 'developer', content: 'In English.' },
        { role: 'user', content: 'So?' },
      ],
      max_output_tokens: 300,
      top_p: 0.9,
      reasoning: { effort: 'low' },
      text: {
        format: { type: 'json_schema', name: 'fox', schema: { type: 'object' }, strict: true },
        verbosity: 'low',
      },
      tools: [
        {
          type: 'function',
          name: 'look',
          description: 'Looks closer.',
          strict: false,
          parameters: { type: 'object', properties: { zoom: { type: 'number' } } },
        },
        { type: 'function', name: 'rest', parameters: { type: 'object', properties: {} }, strict: false },
      ],
      tool_choice: { type: 'function', name: 'look' },
      parallel_tool_calls: false,
      prompt_cache_key: 'k',
      store: false,
      stream: false,
    } satisfies OpenAI.Responses.ResponseCreateParamsNonStreaming);
  });

  it('sends what the catalog fixes, whatever a request or the gateway itself would send', async () => {
    const fixed = { parallel_tool_calls: true, store: true, include: ['reasoning.encrypted_content'] };
    const tools = [{ name: 'look' }];
    const { body } = await wire.chat({
      ...responsesRequest,
      fixed,
      tools,
      parallelToolCalls: false,
      extra: { include: [] },
    });
    expect(body).toMatchObject(fixed);
  });

  it('sends no message of which nothing is left, which OpenAI refuses', async () => {
    const { body } = await wire.chat({
      ...responsesRequest,
      messages: [
        { role: 'user', content: [] },
        { role: 'assistant', content: null, toolCalls: [], reasoning: 'Hm.' },
        { role: 'user', content: 'second' },
      ],
    });
    expect(body).toMatchObject({ input: [{ role: 'user', content: 'second' }] });
  });

  it('takes the effort of the catalog before that of a request', async () => {
    const fixed = { reasoning_effort: 'none' };
    const { body } = await wire.chat({ ...responsesRequest, fixed, extra: { reasoning_effort: 'high' } });
    expect(body).toMatchObject({ reasoning: { effort: 'none' } });
    expect(body).not.toHaveProperty('reasoning_effort');
  });

  it.each<[string, Partial<UpstreamChat>, string, string[]]>([
    ['max', { extra: { reasoning_effort: 'max' } }, 'high', [warningOf('high')]],
    ['minimal', { extra: { reasoning_effort: 'minimal' } }, 'low', [warningOf('low')]],
    ['medium', { extra: { reasoning_effort: 'medium' } }, 'medium', []],
    ['none', { thinking: { mode: 'off' } }, 'low', [warningOf('low')]],
    ['max', { extra: { reasoning_effort: 'max' }, fixed: { reasoning_effort: 'medium' } }, 'medium', []],
  ])('sends the nearest effort of its model, and says so: %s', async (_effort, more, effort, warnings) => {
    const request = { ...responsesRequest, ...more };
    const limited: UpstreamChat = { ...request, traits: { ...traits, efforts: ['low', 'medium', 'high'] } };
    const { body } = await wire.chat(limited);
    expect(body).toMatchObject({ reasoning: { effort } });
    expect(wire.adapter.chatWarnings?.(limited)).toEqual(warnings);
  });

  it.each<[string, Partial<UpstreamChat>, JsonObject]>([
    ['of a request', { extra: { reasoning_effort: 'high', verbosity: 'high' } }, { effort: 'high', verbosity: 'high' }],
    [
      'of the client for this API',
      { extra: { reasoning_effort: 'high' }, vendor: ownReasoning({ effort: 'low', context: 'all' }) },
      { effort: 'low', context: 'all' },
    ],
    [
      'of the catalog before all others',
      {
        extra: { reasoning_effort: 'high', verbosity: 'high' },
        vendor: ownReasoning({ effort: 'low', context: 'all' }),
        fixed: { reasoning_effort: 'none', verbosity: 'low' },
      },
      { effort: 'none', context: 'all', verbosity: 'low' },
    ],
  ])('sends the effort and the verbosity %s', async (_what, more, { verbosity, ...reasoning }: JsonObject) => {
    const { body } = await wire.chat({ ...responsesRequest, ...more });
    expect(body).toMatchObject({ reasoning, ...(verbosity !== undefined && { text: { verbosity } }) });
    expect(body).not.toHaveProperty('verbosity');
    expect(body).not.toHaveProperty('reasoning_effort');
  });

  it.each(['{"input":"x = 1"}', '{"input":7}', '{"code":"x"}', '{"inp', 'x = 1'])(
    'sends the call of a custom tool and its result as the same type: %s',
    async (args) => {
      const { body } = await wire.chat({
        ...responsesRequest,
        toolChoice: 'auto',
        messages: [
          { role: 'user', content: 'Run it.' },
          { role: 'assistant', content: null, toolCalls: [{ id: 'a', name: 'run', arguments: args, isCustom: true }] },
          { role: 'tool', toolCallId: 'a', content: 'done' },
        ],
      });
      const type = args === '{"input":"x = 1"}' ? 'custom_tool_call' : 'function_call';
      expect(body).toMatchObject({ input: [{ role: 'user' }, { type, call_id: 'a' }, { type: `${type}_output` }] });
    },
  );

  const answer = async (reply: unknown) => {
    wire.replies.answer({ status: 200, body: reply });
    return wire.adapter.chat?.(wire.upstream, responsesRequest, wire.options());
  };
  const usage = {
    input_tokens: 30,
    input_tokens_details: { cached_tokens: 10, cache_write_tokens: 5 },
    output_tokens: 20,
    output_tokens_details: { reasoning_tokens: 8 },
    total_tokens: 50,
  };
  const counted = {
    inputTokens: 30,
    outputTokens: 20,
    cachedTokens: 10,
    cacheWriteTokens: 5,
    reasoningTokens: 8,
  };

  it('answers with text, thoughts and calls', async () => {
    expect(await answer(saved('response'))).toEqual({
      kind: 'ok',
      value: {
        content: 'It is a fox.',
        reasoning: 'Red fur.\n\nPointed ears.',
        refusal: null,
        usage: counted,
        toolCalls: [{ id: 'call_9', name: 'look', arguments: '{"zoom":3}' }],
        finishReason: 'tool_calls',
      },
    });
  });

  it.each<[string, object, object]>([
    [
      'a refusal',
      { output: [{ type: 'message', content: [{ type: 'refusal', refusal: 'No.' }] }] },
      { refusal: 'No.' },
    ],
    ['a cut answer', incomplete('max_output_tokens'), { finishReason: 'length', content: null }],
    ['a filtered answer', incomplete('content_filter'), { finishReason: 'content_filter' }],
  ])('answers with %s', async (_name, more, value) => {
    const reply = { object: 'response', status: 'completed', output: [], usage, ...more };
    expect(await answer(reply)).toMatchObject({ kind: 'ok', value: { ...value, usage: counted } });
  });

  it.each<[string, object]>([
    ['server_error', { kind: 'transient', errorClass: 'job_failed' }],
    ['invalid_prompt', { kind: 'refused', clientCode: 'content_policy_violation' }],
    ['misalignment_policy_violation', { kind: 'refused', clientCode: 'content_policy_violation' }],
  ])('reads a failed response with the code %s', async (code, expected) => {
    const error = { code, message: 'secret-marker' };
    const attempt = await answer({ object: 'response', status: 'failed', output: [], error });
    expect(attempt).toMatchObject(expected);
    expect(JSON.stringify(attempt)).not.toContain('secret-marker');
  });

  it('declares the fields that it does not support', () => {
    const supports = wire.adapter.responsesSupports;
    if (!supports) throw new Error('no support of the Responses API');
    const unsupported: [string, Partial<UpstreamChat>][] = [
      ['stop', { stop: ['END'] }],
      ['seed', { seed: 1 }],
      ['top_k', { topK: 1 }],
    ];
    for (const [field, more] of unsupported) {
      expect(unsupportedBy(supports, { ...responsesRequest, ...more })).toBe(field);
    }
    expect(unsupportedBy(supports, responsesRequest)).toBeNull();
  });
});

function ownReasoning(reasoning: JsonObject): VendorFields {
  return { api: 'responses', fields: { reasoning }, paths: Object.keys(reasoning).map((name) => `reasoning.${name}`) };
}

function incomplete(reason: string): object {
  return { status: 'incomplete', incomplete_details: { reason } };
}

describe('the Responses API of the sandbox', () => {
  let sandbox: Sandbox;
  let caller: UpstreamCaller;
  beforeAll(async () => {
    sandbox = await createSandbox();
    caller = createUpstreamCaller();
  });
  afterAll(() => Promise.all([sandbox.close(), caller.close()]));

  it('calls a tool and answers its result in the next turn', async () => {
    const upstream = { channelId: 'c', baseUrl: `${sandbox.url}/sandbox-a/openai`, credential: 'k' };
    const chat = async (messages: UpstreamChat['messages']) => {
      const request = {
        model: 'm',
        messages,
        tools: [{ name: 'look' }],
        maxTokens: 200,
        extra: {},
        traits: { api: 'responses' },
      } as const;
      const attempt = await createOpenai(caller).chat?.(upstream, { ...request, tools: [...request.tools] }, {});
      if (attempt?.kind !== 'ok') throw new Error(`not answered: ${JSON.stringify(attempt)}`);
      return attempt.value;
    };
    const asking = { role: 'user', content: 'see [[tool=look args={"a":1}]] [[thoughts=9 cached=2]]' } as const;
    const first = await chat([asking]);
    expect(first).toMatchObject({ finishReason: 'tool_calls', toolCalls: [{ name: 'look', arguments: '{"a":1}' }] });
    expect(first).toMatchObject({
      reasoning: expect.stringMatching(/^the gate is open/),
      usage: { cachedTokens: 2, reasoningTokens: 9 },
    });
    const second = await chat([
      asking,
      { role: 'assistant', content: first.content, toolCalls: first.toolCalls },
      { role: 'tool', toolCallId: first.toolCalls[0]?.id ?? '', content: 'seen' },
    ]);
    expect(second).toMatchObject({ finishReason: 'stop', toolCalls: [], content: expect.stringContaining('see') });
  });

  it.each(['deepseek', 'zai', 'minimax'])('answers by a schema that %s is told in its instructions', async (vendor) => {
    const upstream = { channelId: 'c', baseUrl: `${sandbox.url}/sandbox-a/openai`, credential: 'k' };
    const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
    for (const system of ['Be brief.', null]) {
      const request: UpstreamChat = {
        model: 'm',
        messages: [
          ...(system === null ? [] : [{ role: 'system' as const, content: system }]),
          { role: 'user', content: 'where?' },
        ],
        tools: [],
        maxTokens: 200,
        extra: {},
        traits: { vendor },
        responseFormat: { type: 'json_schema', name: 'place', schema },
      };
      const attempt = await createOpenai(caller).chat?.(upstream, request, {});
      if (attempt?.kind !== 'ok') throw new Error(`not answered: ${JSON.stringify(attempt)}`);
      expect(JSON.parse(attempt.value.content ?? '')).toEqual({ city: 'sandbox' });
    }
  });
});
