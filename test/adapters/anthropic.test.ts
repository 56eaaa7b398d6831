import type { MessageCreateParamsNonStreaming } from '@anthropic-ai/sdk/resources/messages';
import { createAnthropic } from '../../src/adapters/anthropic.ts';
import { chatAdapterSuite } from './chat-adapter-suite.ts';
import { savedJson } from './saved-replies.ts';

/** A request as the SDK types it. Its types no longer have the sampling parameters, which the older models still take. */
type Sent = MessageCreateParamsNonStreaming & { temperature?: number; top_p?: number; top_k?: number };

const saved = savedJson('anthropic');
const problem = (type: string, message: string) => ({ type: 'error', error: { type, message }, request_id: 'req_1' });
const text = [{ type: 'text', text: 'a' }];

chatAdapterSuite({
  family: 'anthropic',
  create: createAnthropic,
  answers: [
    {
      name: 'thinking and text, partly from the cache',
      body: saved('message'),
      expected: {
        content: 'Two friends agree.',
        reasoning: 'Two phases: first ask, then do.',
        finishReason: 'stop',
        usage: {
          inputTokens: 2_150,
          outputTokens: 120,
          cachedTokens: 2_000,
          reasoningTokens: 80,
          cacheWriteTokens: 100,
          cacheWrite1hTokens: 0,
        },
      },
    },
    {
      name: 'text and two tool calls',
      body: saved('tool-use'),
      expected: {
        content: 'I will look.',
        finishReason: 'tool_calls',
        toolCalls: [
          { id: 'toolu_01', name: 'get_weather', arguments: '{"city":"Oslo"}' },
          { id: 'toolu_02', name: 'get_time', arguments: '{}' },
        ],
      },
    },
    { name: 'a refusal', body: saved('refusal'), expected: { content: null, finishReason: 'content_filter' } },
    {
      name: 'a cut answer',
      body: { content: text, stop_reason: 'max_tokens' },
      expected: { finishReason: 'length', usage: null },
    },
    {
      name: 'an undocumented stop reason and block',
      body: { content: [...text, { type: 'hologram' }], stop_reason: 'bored' },
      expected: { content: 'a', finishReason: 'stop' },
    },
    {
      name: 'input that is kept in the cache for an hour',
      body: {
        content: text,
        usage: {
          input_tokens: 5,
          output_tokens: 5,
          cache_creation_input_tokens: 90,
          cache_read_input_tokens: 0,
          cache_creation: { ephemeral_5m_input_tokens: 20, ephemeral_1h_input_tokens: 70 },
        },
      },
      expected: {
        usage: { inputTokens: 95, outputTokens: 5, cachedTokens: 0, cacheWriteTokens: 90, cacheWrite1hTokens: 70 },
      },
    },
    {
      name: 'usage with some wrong types',
      body: { content: text, usage: { input_tokens: 1.5, output_tokens: 5 } },
      expected: { content: 'a', usage: { inputTokens: null, outputTokens: 5 } },
    },
  ],
  unusable: [
    { content: null },
    { content: 'text' },
    { content: [{}] },
    { type: 'error', content: [] },
    { content: [{ type: 'tool_use', id: 'toolu_1' }] },
    { content: [{ type: 'tool_use', id: 'toolu_1', name: 'f', input: 'x' }] },
  ],
  errors: [
    {
      name: 'overload with status 529',
      reply: { status: 529, body: problem('overloaded_error', 'secret-marker') },
      expected: { kind: 'transient', errorClass: 'provider_error', status: 529 },
    },
    {
      name: 'overload without a body of Anthropic',
      reply: { status: 529, text: '<h1>secret-marker</h1>' },
      expected: { kind: 'transient', errorClass: 'provider_error' },
    },
    {
      name: 'an unpaid bill',
      reply: { status: 403, body: problem('billing_error', 'secret-marker') },
      expected: { kind: 'transient', errorClass: 'account' },
    },
    {
      name: 'an empty account, as a 400',
      reply: {
        status: 400,
        body: problem('invalid_request_error', 'Your credit balance is too low to access the API. secret-marker'),
      },
      expected: { kind: 'transient', errorClass: 'account' },
    },
    {
      name: 'a reached spend limit, as a 400',
      reply: {
        status: 400,
        body: problem('invalid_request_error', 'You have reached your specified API usage limits. secret-marker'),
      },
      expected: { kind: 'transient', errorClass: 'account' },
    },
    {
      name: 'a prompt that is too long',
      reply: {
        status: 400,
        body: problem('invalid_request_error', 'prompt is too long: 208310 tokens > 200000 maximum secret-marker'),
      },
      expected: { kind: 'refused', clientCode: 'context_length_exceeded' },
    },
    {
      name: 'content policy, in prose',
      reply: {
        status: 400,
        body: problem('invalid_request_error', 'Output blocked by content filtering policy secret-marker'),
      },
      expected: { kind: 'refused', clientCode: 'content_policy_violation' },
    },
    {
      name: 'a bad value',
      reply: { status: 400, body: problem('invalid_request_error', 'temperature: range secret-marker') },
      expected: { kind: 'refused', clientCode: 'invalid_value' },
    },
    {
      name: 'an unknown model',
      reply: { status: 404, body: problem('not_found_error', 'model: secret-marker') },
      expected: { kind: 'transient', errorClass: 'unknown_model' },
    },
  ],
  unsupported: [
    ['seed', { seed: 1 }],
    ['response_format', { responseFormat: { type: 'json_object' }, isOfSpec: true }],
    ['stop', { stop: ['END', '\n'] }],
    ['verbosity', { extra: { verbosity: 'low' } }],
  ],
  wire: {
    path: '/messages',
    headers: { 'x-api-key': 'test-credential', 'anthropic-version': '2023-06-01' },
    body: {
      model: 'upstream-model',
      max_tokens: 300,
      system: 'Be brief.\n\nIn English.',
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What is it?' },
            { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' } },
          ],
        },
        {
          role: 'assistant',
          content: [
            { type: 'text', text: 'Let me look.' },
            { type: 'tool_use', id: 'call_1', name: 'look', input: { zoom: 2 } },
            { type: 'tool_use', id: 'call_2', name: 'look', input: {} },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'call_1', content: [{ type: 'text', text: '{"seen":"a fox"}' }] },
            { type: 'tool_result', tool_use_id: 'call_2', content: [{ type: 'text', text: 'nothing' }] },
            { type: 'text', text: 'So?' },
          ],
        },
      ],
      temperature: 1,
      stop_sequences: ['END'],
      tools: [
        {
          name: 'look',
          description: 'Looks closer.',
          input_schema: { type: 'object', properties: { zoom: { type: 'number' } } },
        },
        { name: 'rest', input_schema: { type: 'object', properties: {} } },
      ],
      tool_choice: { type: 'tool', name: 'look' },
    } satisfies Sent,
  },
});
