import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type OpenAI from 'openai';
import { createOpenai } from '../../src/adapters/openai.ts';
import { createUpstreamCaller } from '../../src/adapters/upstream/call-upstream.ts';
import { loadCatalog } from '../../src/services/catalog/load-catalog.ts';
import { toUpstreamChat, type UpstreamChat } from '../../src/domain/chat/chat.ts';
import { chatAdapterSuite, fullRequest } from './chat-adapter-suite.ts';
import { createReplyServer } from './reply-server.ts';
import { openWire, type Wire } from './open-wire.ts';
import { savedJson } from './saved-replies.ts';

const saved = savedJson('openai');
const problem = (error: object) => ({
  error: { message: 'secret-marker', type: 'x', param: null, code: null, ...error },
});
const openrouter = (metadata: object) => ({ error: { code: 403, message: 'secret-marker', metadata } });
const xai = (error: string) => ({
  code: 'The caller does not have permission to execute the specified operation',
  error,
});
const choice = (message: object, finish_reason: unknown = 'stop') => ({ choices: [{ message, finish_reason }] });

chatAdapterSuite({
  family: 'openai',
  create: createOpenai,
  answers: [
    {
      name: 'text with cached and reasoning tokens',
      body: saved('completion'),
      expected: {
        content: 'Under the old gate',
        refusal: null,
        finishReason: 'stop',
        usage: { inputTokens: 2_006, outputTokens: 300, cachedTokens: 1_920, reasoningTokens: 256 },
      },
    },
    {
      name: 'text whose input was written to a cache (OpenRouter)',
      body: {
        ...choice({ content: 'a' }),
        usage: { prompt_tokens: 90, completion_tokens: 5, prompt_tokens_details: { cache_write_tokens: 80 } },
      },
      expected: { usage: { inputTokens: 90, outputTokens: 5, cacheWriteTokens: 80 } },
    },
    {
      name: 'two tool calls',
      body: saved('tool-calls'),
      expected: {
        content: null,
        finishReason: 'tool_calls',
        toolCalls: [
          { id: 'call_abc', name: 'get_weather', arguments: '{"city":"Oslo"}' },
          { id: 'call_def', name: 'get_time', arguments: '{}' },
        ],
      },
    },
    { name: 'a refusal', body: saved('refusal'), expected: { content: null, refusal: 'I cannot help with that.' } },
    {
      name: 'a filtered answer',
      body: choice({ content: '' }, 'content_filter'),
      expected: { content: '', finishReason: 'content_filter' },
    },
    {
      name: 'an answer in parts',
      body: choice({ content: [{ type: 'text', text: 'a' }, { type: 'thinking' }] }),
      expected: { content: 'a' },
    },
    {
      name: 'an undocumented finish reason',
      body: choice({ content: 'a' }, 'eos'),
      expected: { finishReason: 'stop' },
    },
    {
      name: 'arguments as an object, and no id',
      body: choice({ tool_calls: [{ function: { name: 'f', arguments: { a: 1 } } }] }, 'tool_calls'),
      expected: {
        toolCalls: [{ id: expect.stringMatching(/^call_\w{32}$/) as never, name: 'f', arguments: '{"a":1}' }],
      },
    },
    {
      name: 'usage with some wrong types',
      body: {
        ...choice({ content: 'a' }),
        usage: { prompt_tokens: '12', completion_tokens: 5, prompt_tokens_details: 7 },
      },
      expected: { content: 'a', usage: { inputTokens: null, outputTokens: 5 } },
    },
    {
      name: 'usage that is not an object',
      body: { ...choice({ content: 'a' }), usage: 'many' },
      expected: { content: 'a', usage: null },
    },
  ],
  unusable: [
    { choices: [] },
    { choices: [{}] },
    { choices: [{ message: null }] },
    choice({ content: 17 }),
    choice({ content: 'half an answ' }, 'error'),
    choice({ content: 'half' }, 'insufficient_system_resource'),
    choice({ tool_calls: [{ function: {} }] }),
    choice({ tool_calls: 'look' }),
  ],
  errors: [
    {
      name: 'an empty account',
      reply: { status: 429, body: problem({ type: 'insufficient_quota', code: 'insufficient_quota' }) },
      expected: { kind: 'transient', errorClass: 'account' },
    },
    {
      name: 'a prompt that is too long',
      reply: { status: 400, body: problem({ code: 'context_length_exceeded', param: 'messages' }) },
      expected: { kind: 'refused', clientCode: 'context_length_exceeded' },
    },
    ...(
      [
        ['DeepSeek', 400, { message: 'Content Exists Risk', code: 'invalid_request_error' }, 'content_policy'],
        ['DeepSeek', 400, { message: 'Model Not Exist', code: 'invalid_request_error' }, 'unknown_model'],
        ['DeepSeek', 402, { message: 'Insufficient Balance', code: 'invalid_request_error' }, 'account'],
        ['DeepSeek', 503, { message: 'Service is too busy. secret-marker' }, 'provider_error'],
        ['Qwen', 400, { type: 'data_inspection_failed', code: 'data_inspection_failed' }, 'content_policy'],
        ['Qwen', 400, { type: 'Arrearage', code: 'Arrearage' }, 'account'],
        ['Qwen', 403, { type: 'AllocationQuota.FreeTierOnly', code: 'AllocationQuota.FreeTierOnly' }, 'account'],
        ['Qwen', 404, { code: 'model_not_found' }, 'unknown_model'],
        ['Kimi', 400, { type: 'content_filter' }, 'content_policy'],
        ['Kimi', 429, { type: 'exceeded_current_quota_error' }, 'account'],
        ['Kimi', 429, { type: 'engine_overloaded_error' }, 'provider_error'],
        ['Kimi', 429, { type: 'rate_limit_reached_error' }, 'rate_limit'],
        ['Kimi', 404, { type: 'resource_not_found_error' }, 'unknown_model'],
        ['GLM', 400, { type: null, code: '1301' }, 'content_policy'],
        ['GLM', 400, { type: null, code: '1211' }, 'unknown_model'],
        ['GLM', 429, { type: null, code: '1113' }, 'account'],
        ['GLM', 429, { type: null, code: '1305' }, 'provider_error'],
        ['GLM', 429, { type: null, code: '1302' }, 'rate_limit'],
      ] as const
    ).map(([vendor, status, error, errorClass]) => ({
      name: `${vendor}'s ${status} ${Object.values(error).join(' ')}`.trim(),
      reply: { status, body: problem(error) },
      expected: { kind: errorClass === 'content_policy' ? ('refused' as const) : ('transient' as const), errorClass },
    })),
    {
      name: 'a model that the vendor withdrew, as a problem document with 410',
      reply: { status: 410, body: { type: 'about:blank', title: 'Gone', status: 410, detail: 'secret-marker' } },
      expected: { kind: 'transient', errorClass: 'unknown_model' },
    },
    {
      name: 'the same, in prose only',
      reply: {
        status: 400,
        body: problem({ message: "This model's maximum context length is 131072 tokens. secret-marker" }),
      },
      expected: { kind: 'refused', clientCode: 'context_length_exceeded' },
    },
    {
      name: 'a content filter',
      reply: { status: 400, body: problem({ code: 'content_filter' }) },
      expected: { kind: 'refused', code: 'content_policy_violation', clientCode: 'content_policy_violation' },
    },
    {
      name: 'a flagged prompt',
      reply: { status: 400, body: problem({ code: 'invalid_prompt' }) },
      expected: { kind: 'refused', clientCode: 'content_policy_violation' },
    },
    {
      name: "a prompt that OpenRouter's moderation flagged",
      reply: {
        status: 403,
        body: openrouter({ reasons: ['violence'], flagged_input: 'secret-marker', provider_name: 'x' }),
      },
      expected: { kind: 'refused', errorClass: 'content_policy', clientCode: 'content_policy_violation' },
    },
    {
      name: "a prompt that OpenRouter's guardrail blocked",
      reply: { status: 403, body: openrouter({ error_type: 'permission_denied', patterns: ['secret-marker'] }) },
      expected: { kind: 'refused', clientCode: 'content_policy_violation' },
    },
    {
      name: 'a prompt that a provider behind OpenRouter refused',
      reply: { status: 403, body: openrouter({ error_type: 'refusal', provider_name: 'x' }) },
      expected: { kind: 'refused', clientCode: 'content_policy_violation' },
    },
    {
      name: "a 403 of OpenRouter that is about our key's permissions",
      reply: { status: 403, body: openrouter({ error_type: 'permission_denied' }) },
      expected: { kind: 'transient', errorClass: 'forbidden' },
    },
    {
      name: "a 402 of OpenRouter because the account's running requests may cost as much as it has",
      reply: { status: 402, headers: { 'retry-after': '120' }, body: saved('in-flight-budget') },
      expected: { kind: 'transient', errorClass: 'rate_limit', retryAfterSeconds: 120 },
    },
    ...['openrouter_credits', 'openrouter_key_limit'].map((limit_source) => ({
      name: `a 402 of OpenRouter with ${limit_source}, which only an operator can mend`,
      reply: { status: 402, headers: { 'retry-after': '120' }, body: openrouter({ limit_source }) },
      expected: { kind: 'transient' as const, errorClass: 'account' as const },
    })),
    {
      name: "a prompt that violates xAI's usage guidelines",
      reply: {
        status: 403,
        body: xai('Content violates usage guidelines. Team: secret-marker, Failed check: SAFETY_CHECK_TYPE_BIO'),
      },
      expected: { kind: 'refused', errorClass: 'content_policy', clientCode: 'content_policy_violation' },
    },
    {
      name: 'an empty account at xAI',
      reply: { status: 403, body: xai("Your newly created teams doesn't have any credits yet. secret-marker") },
      expected: { kind: 'transient', errorClass: 'account' },
    },
    {
      name: 'a 403 of xAI for another reason',
      reply: { status: 403, body: xai('secret-marker') },
      expected: { kind: 'transient', errorClass: 'forbidden' },
    },
    {
      name: 'an unknown model with 400',
      reply: { status: 400, body: problem({ message: 'The model `secret-marker` does not exist' }) },
      expected: { kind: 'transient', errorClass: 'unknown_model' },
    },
    {
      name: 'a bad value',
      reply: { status: 400, body: problem({ type: 'invalid_request_error', code: 400 }) },
      expected: { kind: 'refused', clientCode: 'invalid_value', status: 400 },
    },
    {
      name: "a compatible server's own 500",
      reply: { status: 500, body: { object: 'error', message: 'secret-marker', type: 'internal', code: 500 } },
      expected: { kind: 'transient', errorClass: 'provider_error' },
    },
  ],
  unsupported: [['stop', { stop: ['a', 'b', 'c', 'd', 'e'] }]],
  wire: {
    path: '/chat/completions',
    headers: { authorization: 'Bearer test-credential', 'content-type': 'application/json' },
    body: {
      model: 'upstream-model',
      messages: [
        { role: 'system', content: 'Be brief.' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What is it?' },
            { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } },
            { type: 'text', text: '' },
          ],
        },
        {
          role: 'assistant',
          content: 'Let me look.',
          tool_calls: [
            { id: 'call_1', type: 'function', function: { name: 'look', arguments: '{"zoom":2}' } },
            { id: 'call.2', type: 'function', function: { name: 'look', arguments: '{"zoom":' } },
          ],
        },
        { role: 'tool', tool_call_id: 'call_1', content: '{"seen":"a fox"}' },
        { role: 'tool', tool_call_id: 'call.2', content: 'nothing' },
        { role: 'system', content: 'In English.' },
        { role: 'user', content: 'So?' },
      ],
      max_tokens: 300,
      temperature: 1.5,
      top_p: 0.9,
      stop: ['END'],
      tools: [
        {
          type: 'function',
          function: {
            name: 'look',
            description: 'Looks closer.',
            parameters: { type: 'object', properties: { zoom: { type: 'number' } } },
          },
        },
        { type: 'function', function: { name: 'rest' } },
      ],
      tool_choice: { type: 'function', function: { name: 'look' } },
      n: 1,
      stream: false,
    } satisfies OpenAI.Chat.ChatCompletionCreateParamsNonStreaming,
  },
});

describe('the OpenAI chat adapter on the wire', () => {
  let wire: Wire;
  beforeAll(async () => {
    wire = await openWire({ create: createOpenai, credential: 'k' });
  });
  afterAll(() => wire.close());

  it('passes unknown fields on, but lets none replace a priced field', async () => {
    const { body } = await wire.chat({
      ...fullRequest,
      seed: 7,
      user: 'u1',
      parallelToolCalls: false,
      responseFormat: { type: 'json_schema', name: 'fox', schema: { type: 'object' }, strict: true },
      parameters: { max_tokens: { name: 'max_completion_tokens' } },
      extra: { reasoning_effort: 'low', max_completion_tokens: 100_000, model: 'dearer', n: 9, stream: true },
    });
    expect(body).toMatchObject({
      reasoning_effort: 'low',
      max_completion_tokens: 300,
      model: 'upstream-model',
      n: 1,
      stream: false,
      seed: 7,
      user: 'u1',
      parallel_tool_calls: false,
      response_format: { type: 'json_schema', json_schema: { name: 'fox', schema: { type: 'object' }, strict: true } },
    });
    expect(body).not.toHaveProperty('max_tokens');
  });

  const conversation: UpstreamChat['messages'] = [
    { role: 'user', content: 'What is it?' },
    {
      role: 'assistant',
      content: null,
      reasoning: 'I must look.',
      toolCalls: [{ id: 'c1', name: 'look', arguments: '{}' }],
    },
    { role: 'tool', toolCallId: 'c1', content: 'a fox' },
    { role: 'assistant', content: 'A fox.', toolCalls: [] },
    { role: 'user', content: 'Sure?' },
  ];
  const thoughtsSent = async (messages: UpstreamChat['messages'], keeps_reasoning?: boolean) => {
    const { body } = await wire.chat({
      ...fullRequest,
      messages,
      ...(keeps_reasoning && { traits: { keeps_reasoning } }),
    });
    return (body as { messages: { reasoning_content?: string }[] }).messages.map(
      (message) => message.reasoning_content,
    );
  };

  it('sends thoughts back in a conversation with tools, to a model that wants them', async () => {
    expect(await thoughtsSent(conversation, true)).toEqual([undefined, 'I must look.', undefined, ' ', undefined]);
    expect(await thoughtsSent(conversation)).toEqual([undefined, undefined, undefined, undefined, undefined]);
    const untooled = conversation.filter(({ role }) => role !== 'tool');
    expect(await thoughtsSent(untooled, true)).toEqual([undefined, undefined, undefined, undefined]);
  });

  it('sends no mark of another provider', async () => {
    const cacheControl = { type: 'ephemeral' } as const;
    const { sent } = await wire.chat({
      ...fullRequest,
      messages: [{ role: 'user', content: [{ type: 'text', text: 'x', cacheControl }] }],
      tools: [{ name: 'look', cacheControl }],
    });
    expect(sent.body).not.toMatch(/cache_?control/i);
  });
});

describe('what a mapping leaves out for its vendor', () => {
  it('is not sent to a Mistral model, whole or streamed', async () => {
    const entry = (await loadCatalog('catalog')).entries.find(({ model }) => model.id === 'mistral-large-4');
    const mapping = entry?.private.upstream.openai;
    if (!mapping) throw new Error('no mapping');
    const request: UpstreamChat = {
      ...fullRequest,
      messages: [{ role: 'user', content: 'hello', name: 'ann' }],
      seed: 5,
      topK: 3,
      user: 'ann',
      extra: { prompt_cache_key: 'a', metadata: { a: 'b' }, frequency_penalty: 0.5 },
    };
    const replies = await createReplyServer();
    const caller = createUpstreamCaller();
    try {
      const adapter = createOpenai(caller);
      const upstream = { channelId: 'c', baseUrl: replies.url, credential: 'x' };
      const sent = toUpstreamChat(request, mapping);
      replies.answer({ status: 500 });
      await adapter.chat?.(upstream, sent, {});
      const limits = { firstByteMs: 60_000, idleMs: 60_000, wholeMs: 60_000 };
      await adapter.chatStream?.(upstream, sent, { limits, signal: new AbortController().signal });
      expect(replies.received).toHaveLength(2);
      for (const { body } of replies.received) {
        const fields: unknown = JSON.parse(body);
        expect(fields).toMatchObject({ random_seed: 5, metadata: { a: 'b' }, frequency_penalty: 0.5 });
        for (const left of ['seed', 'user', 'top_k', 'stream_options', 'prompt_cache_key', 'messages.0.name']) {
          expect(fields).not.toHaveProperty(left);
        }
      }
    } finally {
      await caller.close();
      await replies.close();
    }
  });
});
