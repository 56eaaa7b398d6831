import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createGemini } from '../../src/channels/gemini.ts';
import { chatAdapterSuite, fullRequest } from './chat-adapter-suite.ts';
import { openWire, type Wire } from './open-wire.ts';
import { savedJson } from './saved-replies.ts';

const saved = savedJson('gemini');
const problem = (code: number, status: string, message = 'secret-marker', reason?: string) => ({
  error: {
    code,
    message,
    status,
    ...(reason && {
      details: [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason, domain: 'googleapis.com' }],
    }),
  },
});
const candidate = (parts: unknown, finishReason: unknown = 'STOP') => ({
  candidates: [{ content: { parts }, finishReason }],
});

chatAdapterSuite({
  family: 'gemini',
  create: createGemini,
  answers: [
    {
      name: 'thoughts and text, partly from the cache',
      body: saved('response'),
      expected: {
        content: 'The Nile, the Ob, the Mackenzie.',
        finishReason: 'stop',
        usage: { inputTokens: 4_100, outputTokens: 212, cachedTokens: 4_000, reasoningTokens: 200 },
      },
    },
    {
      name: 'two function calls with a signature',
      body: saved('function-calls'),
      expected: {
        content: null,
        finishReason: 'tool_calls',
        toolCalls: [
          { id: 'call_0', name: 'get_weather', arguments: '{"city":"Oslo"}', signature: 'Ct4B' },
          { id: 'fc_2', name: 'get_time', arguments: '{}' },
        ],
      },
    },
    {
      name: 'a filtered answer',
      body: saved('safety'),
      expected: { content: null, finishReason: 'content_filter', usage: { inputTokens: 12, outputTokens: 0 } },
    },
    {
      name: 'a cut answer',
      body: candidate([{ text: 'a' }], 'MAX_TOKENS'),
      expected: { finishReason: 'length', usage: null },
    },
    {
      name: 'an undocumented finish reason, with text',
      body: candidate([{ text: 'a' }], 'BORED'),
      expected: { content: 'a', finishReason: 'stop' },
    },
    {
      name: 'usage without an output count',
      body: { ...candidate([{ text: 'a' }]), usageMetadata: { promptTokenCount: 9 } },
      expected: { usage: { inputTokens: 9, outputTokens: null } },
    },
  ],
  unusable: [
    { candidates: [] },
    { candidates: [null] },
    candidate('text'),
    candidate([{ text: 7 }]),
    candidate([], 'MALFORMED_FUNCTION_CALL'),
    candidate([], 'OTHER'),
    candidate([], null),
    candidate([{ functionCall: {} }]),
  ],
  errors: [
    {
      name: 'a blocked prompt, with 200',
      reply: {
        status: 200,
        body: { promptFeedback: { blockReason: 'PROHIBITED_CONTENT' }, usageMetadata: { promptTokenCount: 4 } },
      },
      expected: { kind: 'refused', errorClass: 'content_policy', clientCode: 'content_policy_violation' },
    },
    {
      name: 'an invalid key, as a 400',
      reply: {
        status: 400,
        body: problem(400, 'INVALID_ARGUMENT', 'API key not valid. secret-marker', 'API_KEY_INVALID'),
      },
      expected: { kind: 'transient', errorClass: 'account' },
    },
    {
      name: 'an unsupported region, as a 400',
      reply: { status: 400, body: problem(400, 'FAILED_PRECONDITION') },
      expected: { kind: 'transient', errorClass: 'account' },
    },
    {
      name: 'a prompt that is too long',
      reply: {
        status: 400,
        body: problem(
          400,
          'INVALID_ARGUMENT',
          'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576). secret-marker',
        ),
      },
      expected: { kind: 'refused', clientCode: 'context_length_exceeded' },
    },
    {
      name: 'a bad value',
      reply: { status: 400, body: problem(400, 'INVALID_ARGUMENT') },
      expected: { kind: 'refused', clientCode: 'invalid_value' },
    },
    {
      name: 'too many requests',
      reply: { status: 429, body: problem(429, 'RESOURCE_EXHAUSTED') },
      expected: { kind: 'transient', errorClass: 'rate_limit' },
    },
    {
      name: 'an unknown model',
      reply: { status: 404, body: problem(404, 'NOT_FOUND') },
      expected: { kind: 'transient', errorClass: 'unknown_model' },
    },
  ],
  unsupported: [
    ['messages', { messages: [{ role: 'user', content: [{ type: 'image', url: 'https://example.com/a.png' }] }] }],
    ['parallel_tool_calls', { parallelToolCalls: false }],
    ['verbosity', { extra: { verbosity: 'low' } }],
  ],
  wire: {
    path: '/models/upstream-model:generateContent',
    headers: { 'x-goog-api-key': 'test-credential' },
    body: {
      systemInstruction: { parts: [{ text: 'Be brief.\n\nIn English.' }] },
      contents: [
        {
          role: 'user',
          parts: [{ text: 'What is it?' }, { inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgo=' } }],
        },
        {
          role: 'model',
          parts: [
            { text: 'Let me look.' },
            { functionCall: { name: 'look', args: { zoom: 2 } } },
            { functionCall: { name: 'look', args: {} } },
          ],
        },
        {
          role: 'user',
          parts: [
            { functionResponse: { name: 'look', response: { seen: 'a fox' } } },
            { functionResponse: { name: 'look', response: { result: 'nothing' } } },
            { text: 'So?' },
          ],
        },
      ],
      generationConfig: {
        maxOutputTokens: 300,
        candidateCount: 1,
        temperature: 1.5,
        topP: 0.9,
        stopSequences: ['END'],
      },
      tools: [
        {
          functionDeclarations: [
            {
              name: 'look',
              description: 'Looks closer.',
              parametersJsonSchema: { type: 'object', properties: { zoom: { type: 'number' } } },
            },
            { name: 'rest' },
          ],
        },
      ],
      toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['look'] } },
    },
  },
});

describe('the Gemini chat adapter on the wire', () => {
  let wire: Wire;
  beforeAll(async () => {
    wire = await openWire({ create: createGemini, credential: 'k' });
  });
  afterAll(() => wire.close());

  it('returns the thought signature of a call and requests JSON by schema', async () => {
    const { sent, body } = await wire.chat({
      ...fullRequest,
      model: 'a/b?c',
      messages: [
        { role: 'user', content: 'x' },
        { role: 'assistant', content: null, toolCalls: [{ id: '1', name: 'f', arguments: '{}', signature: 'Ct4B' }] },
        { role: 'tool', toolCallId: '1', content: 'y' },
      ],
      seed: 3,
      topK: 40,
      responseFormat: { type: 'json_schema', name: 's', schema: { type: 'object' } },
    });
    expect(sent.path).toBe('/models/a%2Fb%3Fc:generateContent');
    expect(body).toMatchObject({
      contents: [{}, { parts: [{ functionCall: { name: 'f', args: {} }, thoughtSignature: 'Ct4B' }] }, {}],
      generationConfig: {
        seed: 3,
        topK: 40,
        responseMimeType: 'application/json',
        responseJsonSchema: { type: 'object' },
      },
    });
  });
});
