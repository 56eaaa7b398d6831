import type { Content, GenerationConfig, SafetySetting, Tool, ToolConfig } from '@google/genai';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createGemini } from '../../src/adapters/gemini.ts';
import type { UpstreamChat } from '../../src/domain/chat/chat.ts';
import { chatAdapterSuite, fullRequest } from './chat-adapter-suite.ts';
import { openWire, type Wire } from './open-wire.ts';
import { savedJson } from './saved-replies.ts';

/** The SDK's enums as the words that are sent. */
type Plain<T> = T extends string ? `${T}` : T extends object ? { [Name in keyof T]: Plain<T[Name]> } : T;
/** A request as the SDK types its parts. */
type Sent = Plain<{
  contents: Content[];
  systemInstruction?: Content;
  generationConfig: GenerationConfig;
  tools?: Tool[];
  toolConfig?: ToolConfig;
  safetySettings?: SafetySetting[];
}>;

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
        reasoning: 'Rivers that flow north...',
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
          {
            id: expect.stringMatching(/^call_\w{32}$/) as never,
            name: 'get_weather',
            arguments: '{"city":"Oslo"}',
            signature: 'Ct4B',
          },
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
    ...['MALFORMED_FUNCTION_CALL', 'OTHER', 'NO_IMAGE', 'IMAGE_OTHER'].map((reason) => ({
      name: `no answer because of ${reason}, which is no policy`,
      reply: { status: 200, body: candidate([], reason) },
      expected: { kind: 'transient' as const, errorClass: 'job_failed' as const },
    })),
    {
      name: 'an invalid key, as a 400',
      reply: {
        status: 400,
        body: problem(400, 'INVALID_ARGUMENT', 'API key not valid. secret-marker', 'API_KEY_INVALID'),
      },
      expected: { kind: 'transient', errorClass: 'account' },
    },
    ...['SERVICE_DISABLED', 'CONSUMER_SUSPENDED', 'BILLING_DISABLED'].map((reason) => ({
      name: `a project that is not in order: ${reason}`,
      reply: { status: 403, body: problem(403, 'PERMISSION_DENIED', 'secret-marker', reason) },
      expected: { kind: 'transient' as const, errorClass: 'account' as const },
    })),
    {
      name: 'an overload',
      reply: { status: 503, body: problem(503, 'UNAVAILABLE') },
      expected: { kind: 'transient', errorClass: 'provider_error' },
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
            { functionCall: { id: 'call_1', name: 'look', args: { zoom: 2 } } },
            { functionCall: { id: 'call.2', name: 'look', args: {} } },
          ],
        },
        {
          role: 'user',
          parts: [
            { functionResponse: { id: 'call_1', name: 'look', response: { seen: 'a fox' } } },
            { functionResponse: { id: 'call.2', name: 'look', response: { result: 'nothing' } } },
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
    } satisfies Sent,
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
      // The milliseconds since 1970, as Tabby sends them.
      seed: 1_795_954_983_123,
      topK: 40,
      responseFormat: { type: 'json_schema', name: 's', schema: { type: 'object' } },
    });
    expect(sent.path).toBe('/models/a%2Fb%3Fc:generateContent');
    expect(body).toMatchObject({
      contents: [{}, { parts: [{ functionCall: { id: '1', name: 'f', args: {} }, thoughtSignature: 'Ct4B' }] }, {}],
      generationConfig: {
        seed: 1_795_954_983_123 | 0,
        topK: 40,
        responseMimeType: 'application/json',
        responseJsonSchema: { type: 'object' },
      },
    });
  });

  const asking = (more: Partial<UpstreamChat>): UpstreamChat => ({
    model: 'm',
    messages: [{ role: 'user', content: 'Hi' }],
    tools: [],
    maxTokens: 4_096,
    extra: {},
    ...more,
  });
  const sent = async (more: Partial<UpstreamChat>) => (await wire.chat(asking(more))).body;
  const withConfig = (config: Sent['generationConfig']) =>
    ({
      contents: [{ role: 'user', parts: [{ text: 'Hi' }] }],
      generationConfig: { maxOutputTokens: 4_096, candidateCount: 1, ...config },
    }) satisfies Sent;

  it('names the type of an image that Gemini fetches itself', async () => {
    const url = (name: string) => `https://example.com/${name}`;
    const images = ['a.PNG?x=1', 'b.jpg', 'c'].map((name) => ({ type: 'image' as const, url: url(name) }));
    expect(await sent({ messages: [{ role: 'user', content: images }] })).toMatchObject({
      contents: [
        {
          role: 'user',
          parts: [
            { fileData: { fileUri: url('a.PNG?x=1'), mimeType: 'image/png' } },
            { fileData: { fileUri: url('b.jpg'), mimeType: 'image/jpeg' } },
            { fileData: { fileUri: url('c'), mimeType: 'image/jpeg' } },
          ],
        },
      ],
    } satisfies Pick<Sent, 'contents'>);
  });

  it('sends the thinking and the safety settings of a Gemini client', async () => {
    const thinkingConfig = { thinkingLevel: 'LOW', includeThoughts: true } as const;
    const safetySettings = [{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'BLOCK_NONE' } as const];
    expect(await sent({ gemini: { thinkingConfig, safetySettings } })).toEqual({
      ...withConfig({ thinkingConfig }),
      safetySettings,
    } satisfies Sent);
  });

  it.each<['adaptive' | 'budget' | 'never', string, number, NonNullable<Sent['generationConfig']['thinkingConfig']>]>([
    ['adaptive', 'none', 4_096, { thinkingLevel: 'MINIMAL', includeThoughts: false }],
    ['never', 'none', 4_096, { thinkingLevel: 'LOW', includeThoughts: false }],
    ['never', 'minimal', 4_096, { thinkingLevel: 'LOW', includeThoughts: true }],
    ['never', 'high', 4_096, { thinkingLevel: 'HIGH', includeThoughts: true }],
    ['adaptive', 'max', 4_096, { thinkingLevel: 'HIGH', includeThoughts: true }],
    ['budget', 'none', 4_096, { thinkingBudget: 0 }],
    ['budget', 'low', 4_096, { thinkingBudget: 1_024, includeThoughts: true }],
    ['budget', 'high', 4_096, { thinkingBudget: 2_048, includeThoughts: true }],
    ['budget', 'high', 512, { includeThoughts: true }],
  ])('translates for a model with thinking %s the reasoning effort %s at %d tokens', async (...args) => {
    const [thinking, reasoning_effort, maxOutputTokens, thinkingConfig] = args;
    const traits = thinking === 'never' ? ({ thinking: 'adaptive', thinking_off: thinking } as const) : { thinking };
    expect(await sent({ maxTokens: maxOutputTokens, extra: { reasoning_effort }, traits })).toEqual(
      withConfig({ maxOutputTokens, thinkingConfig }),
    );
  });

  it.each<[string, Partial<UpstreamChat>, object | undefined, string[]]>([
    [
      'Gemini 3, asked for the least effort',
      { traits: { thinking: 'adaptive', thinking_off: 'never' } },
      { thinkingLevel: 'LOW', includeThoughts: false },
      ['This model always thinks. It was asked for the effort low.'],
    ],
    [
      'Gemini 2.5 Pro, given its least budget',
      { traits: { thinking: 'budget', thinking_off: 'never' } },
      { thinkingBudget: 128 },
      ['This model always thinks. It was asked for 128 tokens of thoughts.'],
    ],
    ['a model that can be told not to think', { traits: { thinking: 'budget' } }, { thinkingBudget: 0 }, []],
    ['a model of whose thinking the catalog says nothing else', { traits: { thinking_off: 'never' } }, undefined, []],
    [
      "a client of Gemini's own words, which are sent as they are",
      { traits: { thinking: 'adaptive', thinking_off: 'never' }, gemini: { thinkingConfig: { thinkingBudget: 0 } } },
      { thinkingBudget: 0 },
      [],
    ],
  ])(
    'says that a model always thinks where the client wants no thoughts: %s',
    async (_what, more, config, warnings) => {
      for (const off of [{ thinking: { mode: 'off' } }, { extra: { reasoning_effort: 'none' } }] as const) {
        const request = { ...more, ...off, maxTokens: 4_096 };
        expect(await sent(request)).toEqual(withConfig({ maxOutputTokens: 4_096, thinkingConfig: config }));
        expect(wire.adapter.chatWarnings?.(asking(request))).toEqual(warnings);
      }
    },
  );

  it("sends Google's value for a signature that the client dropped, if the model needs one", async () => {
    const call = (id: string, signature?: string) => ({
      id,
      name: 'f',
      arguments: '{}',
      ...(signature && { signature }),
    });
    const turn = async (toolCalls: ReturnType<typeof call>[], thinking?: 'adaptive' | 'budget') => {
      const messages: UpstreamChat['messages'] = [
        { role: 'assistant', content: null, toolCalls },
        ...toolCalls.map(({ id }) => ({ role: 'tool' as const, toolCallId: id, content: 'y' })),
      ];
      const body = await sent({ messages, ...(thinking && { traits: { thinking } }) });
      return (body as Sent).contents[0]?.parts?.map(({ thoughtSignature }) => thoughtSignature);
    };
    expect(await turn([call('1'), call('2')], 'adaptive')).toEqual(['skip_thought_signature_validator', undefined]);
    expect(await turn([call('1', 'S'), call('2')], 'adaptive')).toEqual(['S', undefined]);
    expect(await turn([call('1')], 'budget')).toEqual([undefined]);
    expect(await turn([call('1')])).toEqual([undefined]);
  });

  it.each([
    ['inside the result, by bytes, to Gemini 3', 'adaptive', 'data:image/png;base64,AAAA', true],
    ['beside the result, by URL, to Gemini 3', 'adaptive', 'https://example.com/a.png', false],
    ['beside the result to an earlier Gemini', 'budget', 'data:image/png;base64,AAAA', false],
  ] as const)('sends the picture that a tool returned %s', async (_case, thinking, url, isInside) => {
    const messages: UpstreamChat['messages'] = [
      { role: 'assistant', content: null, toolCalls: [{ id: '1', name: 'f', arguments: '{}', signature: 'S' }] },
      { role: 'tool', toolCallId: '1', content: [{ type: 'image', url }] },
    ];
    const { contents } = (await sent({ messages, traits: { thinking } })) as Sent;
    const picture = url.startsWith('data:')
      ? { inlineData: { mimeType: 'image/png', data: 'AAAA' } }
      : { fileData: { fileUri: url, mimeType: 'image/png' } };
    const functionResponse = { id: '1', name: 'f', ...(isInside && { parts: [picture] }) };
    expect(contents[1]?.parts).toMatchObject([{ functionResponse }, ...(isInside ? [] : [{}, picture])]);
  });
});
