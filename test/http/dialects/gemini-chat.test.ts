import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { ChatReply } from '../../../src/domain/chat/chat.ts';
import { isContent, toDeltas, type ChatDelta } from '../../../src/domain/chat/chat-stream.ts';
import { GatewayError } from '../../../src/domain/errors.ts';
import { geminiResponse } from '../../../src/http/dialects/gemini/gemini-chat-reply.ts';
import { readGeminiChat } from '../../../src/http/dialects/gemini/gemini-chat-request.ts';
import { geminiStream } from '../../../src/http/dialects/gemini/gemini-chat-stream.ts';

const hello = [{ role: 'user', parts: [{ text: 'hello' }] }];
const read = (more: Record<string, unknown> = {}) => readGeminiChat('m', { contents: hello, ...more });
const refusal = (more: Record<string, unknown>): { code?: string; param?: string | undefined } => {
  try {
    read(more);
    return {};
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return { code: error.code, param: error.param };
  }
};
const withPart = (part: unknown, role: unknown = 'user') => ({ contents: [{ role, parts: [part] }] });
const declared = (name = 'inspect') => [{ functionDeclarations: [{ name }] }];

describe('a generateContent request', () => {
  it('gets the default values of the catalog, and the role user if it has none', () => {
    expect(read({ contents: [{ parts: [{ text: 'hello' }] }] })).toEqual({
      model: 'm',
      messages: [{ role: 'user', content: [{ type: 'text', text: 'hello' }] }],
      tools: [],
      maxTokens: 1_024,
      isDefaultLength: true,
      temperature: 0.7,
      isDefaultTemperature: true,
      extra: {},
    });
  });

  it('gets no default temperature beside a topP, because some models refuse the two together', () => {
    const request = read({ contents: [{ parts: [{ text: 'hello' }] }], generationConfig: { topP: 0.9 } });
    expect(request).toMatchObject({ topP: 0.9 });
    expect(request).not.toHaveProperty('temperature');
  });

  it('keeps thinkingConfig and safetySettings for Gemini, unless they change nothing', () => {
    const safety_settings = [{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'BLOCK_NONE' }];
    const generationConfig = { thinking_config: { thinking_level: 'low', includeThoughts: true } };
    expect(read({ generationConfig, safety_settings }).gemini).toEqual({
      thinkingConfig: { thinkingLevel: 'low', includeThoughts: true },
      safetySettings: safety_settings,
    });
    const empty = { thinkingConfig: { includeThoughts: false, thinkingBudget: null } };
    expect(read({ generationConfig: empty, safetySettings: [] })).toEqual(read());
    expect(refusal({ generationConfig: { thinkingConfig: { thinkingLevel: 'as deep as it goes' } } })).toEqual({
      code: 'invalid_value',
      param: 'generationConfig.thinkingConfig.thinkingLevel',
    });
  });

  it('accepts the fields of a Gemini client in camelCase and in snake_case', () => {
    const request = read({
      system_instruction: { role: 'user', parts: { text: 'Be brief.' } },
      contents: [
        { role: 'user', parts: [{ text: 'What?' }, { inline_data: { mime_type: 'image/PNG', data: 'A-_A' } }] },
      ],
      generationConfig: {
        maxOutputTokens: 64,
        temperature: 2,
        topP: 0.5,
        topK: 40,
        stopSequences: ['END'],
        seed: 7,
        candidateCount: 1,
        responseMimeType: 'application/json',
        responseSchema: { type: 'OBJECT', properties: { n: { type: 'INTEGER' } } },
      },
      tools: [
        {
          function_declarations: [
            { name: 'inspect', description: 'x', parameters: { type: 'OBJECT' } },
            { name: 'rest' },
          ],
        },
      ],
      tool_config: { function_calling_config: { mode: 'ANY', allowed_function_names: ['inspect'] } },
    });
    expect(request).toEqual({
      model: 'm',
      messages: [
        { role: 'system', content: 'Be brief.' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What?' },
            { type: 'image', url: 'data:image/png;base64,A+/A' },
          ],
        },
      ],
      tools: [{ name: 'inspect', description: 'x', parameters: { type: 'object' } }, { name: 'rest' }],
      toolChoice: { name: 'inspect' },
      responseFormat: {
        type: 'json_schema',
        name: 'response',
        schema: { type: 'object', properties: { n: { type: 'integer' } } },
      },
      maxTokens: 64,
      temperature: 2,
      topP: 0.5,
      topK: 40,
      stop: ['END'],
      seed: 7,
      extra: {},
    });
  });

  it.each([
    ['names written in another way, as by Semantic Kernel', [{ name: 'plugin__one' }, { name: 'plugin__two' }]],
    ['the ids as names, as by ruby_llm before 1.9', [{ name: 'call_1_0' }, { name: 'call_1_1' }]],
    [
      'ids of their own',
      [
        { id: 'x', name: 'plugin-one' },
        { id: 'y', name: 'plugin-two' },
      ],
    ],
    ['one name written in another way', [{ name: 'plugin__one' }, { name: 'plugin-two' }]],
    ['one name written in another way, in another order', [{ name: 'plugin__two' }, { name: 'plugin-one' }], [1, 0]],
  ])('links function calls to responses of the role tool with %s', (_what, answers, order = [0, 1]) => {
    const calls = ['plugin-one', 'plugin-two'].map((name) => ({ functionCall: { name } }));
    const parts = answers.map((answer) => ({ functionResponse: { ...answer, response: {} } }));
    const { messages } = read({ contents: [...hello, { role: 'model', parts: calls }, { role: 'tool', parts }] });
    const ids = messages.flatMap((message) => (message.role === 'tool' ? [message.toolCallId] : []));
    expect(ids).toEqual(order.map((index) => `call_1_${index}`));
  });

  it('links function calls to their responses by stable ids, whether or not the client sends ids', () => {
    const contents = [
      ...hello,
      {
        role: 'model',
        parts: [
          { text: 'hm', thought: true },
          { text: 'Looking.' },
          { functionCall: { name: 'inspect', args: { at: 1 } }, thoughtSignature: 'S' },
          { functionCall: { name: 'inspect', args: { at: 2 } } },
          { functionCall: { id: 'own', name: 'rest' } },
        ],
      },
      {
        role: 'function',
        parts: [
          { functionResponse: { id: 'own', name: 'rest', response: { ok: true } } },
          { functionResponse: { name: 'inspect', response: { seen: 1 } } },
          { functionResponse: { name: 'inspect', response: { seen: 2 } } },
          { text: 'Go on.' },
        ],
      },
    ];
    const { messages } = read({ contents });
    expect(messages.slice(1)).toEqual([
      {
        role: 'assistant',
        content: [{ type: 'text', text: 'Looking.' }],
        toolCalls: [
          { id: 'call_1_1', name: 'inspect', arguments: '{"at":1}', signature: 'S' },
          { id: 'call_1_2', name: 'inspect', arguments: '{"at":2}' },
          { id: 'own', name: 'rest', arguments: '{}' },
        ],
      },
      { role: 'tool', toolCallId: 'own', content: '{"ok":true}' },
      { role: 'tool', toolCallId: 'call_1_1', content: '{"seen":1}' },
      { role: 'tool', toolCallId: 'call_1_2', content: '{"seen":2}' },
      { role: 'user', content: [{ type: 'text', text: 'Go on.' }] },
    ]);
    expect(read({ contents }).messages).toEqual(messages);
  });

  it.each<[Record<string, unknown>, string, string]>([
    [{ contents: undefined }, 'missing_parameter', 'contents'],
    [{ contents: [] }, 'invalid_value', 'contents'],
    [{ contents: {} }, 'invalid_value', 'contents'],
    [{ contents: 'hello' }, 'invalid_value', 'contents'],
    [{ contents: [{ role: 'user', parts: [] }] }, 'invalid_value', 'contents.0.parts'],
    [withPart({}), 'invalid_value', 'contents.0.parts.0'],
    [withPart({ fileData: { fileUri: 'x' } }), 'unsupported_parameter', 'contents.0.parts.0.fileData'],
    [withPart({ text: 'a', functionCall: { name: 'f' } }), 'invalid_value', 'contents.0.parts.0'],
    [withPart({ text: '' }), 'invalid_value', 'contents'],
    [withPart({ text: 'x' }, 'system'), 'invalid_value', 'contents.0.role'],
    [
      withPart({ inlineData: { mimeType: 'audio/mp3', data: 'AAAA' } }),
      'invalid_value',
      'contents.0.parts.0.inlineData.mimeType',
    ],
    [
      withPart({ inline_data: { mime_type: 'application/pdf', data: 'AAAA' } }),
      'invalid_value',
      'contents.0.parts.0.inlineData.mimeType',
    ],
    [
      withPart({ inlineData: { mimeType: 'image/png', data: 'not base64!' } }),
      'invalid_value',
      'contents.0.parts.0.inlineData.data',
    ],
    [withPart({ inlineData: { mimeType: 'image/png', data: 'AAAA' } }, 'model'), 'invalid_value', 'contents.0'],
    [withPart({ functionResponse: { name: 'f', response: {} } }), 'invalid_value', 'contents.0'],
    [withPart({ functionCall: { name: 'f' } }), 'invalid_value', 'contents.0'],
    [{ generationConfig: [] }, 'invalid_value', 'generationConfig'],
    [{ generationConfig: 'hot' }, 'invalid_value', 'generationConfig'],
    [{ generationConfig: { maxOutputTokens: 8 } }, 'invalid_value', 'generationConfig.maxOutputTokens'],
    [{ generationConfig: { temperature: 3 } }, 'invalid_value', 'generationConfig.temperature'],
    [{ generationConfig: { candidateCount: 2 } }, 'invalid_value', 'generationConfig.candidateCount'],
    [{ generationConfig: { responseSchema: {} } }, 'invalid_value', 'generationConfig.responseMimeType'],
    [{ generationConfig: { speechConfig: {} } }, 'unsupported_parameter', 'generationConfig.speechConfig'],
    [{ tools: [{ googleSearch: {} }] }, 'unsupported_parameter', 'tools.0.googleSearch'],
    [{ toolConfig: { functionCallingConfig: { mode: 'ANY' } } }, 'invalid_value', 'toolConfig.functionCallingConfig'],
    [
      { tools: declared(), toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['rest'] } } },
      'invalid_value',
      'toolConfig.functionCallingConfig.allowedFunctionNames',
    ],
    [{ cachedContent: 'x' }, 'unsupported_parameter', 'cachedContent'],
  ])('is refused with the name of the wrong field: %j', (more, code, param) => {
    expect(refusal(more)).toEqual({ code, param });
  });

  it.each([
    ['AUTO', 'auto'],
    ['NONE', 'none'],
    ['ANY', 'required'],
  ])('maps the function calling mode %s to the tool choice %s', (mode, choice) => {
    expect(read({ tools: declared(), toolConfig: { functionCallingConfig: { mode } } }).toolChoice).toBe(choice);
  });

  it('accepts a value that changes nothing, and refuses another value with the name of the field', () => {
    const contents = [{ parts: [{ text: 'hello' }] }];
    const plain = readGeminiChat('m', { contents });
    for (const harmless of [{ store: false }, { serviceTier: 'auto' }, { service_tier: 'standard' }]) {
      expect(readGeminiChat('m', { contents, ...harmless })).toEqual(plain);
    }
    for (const [field, value] of [
      ['store', true],
      ['serviceTier', 'flex'],
      ['labels', {}],
    ] as const) {
      expect(() => readGeminiChat('m', { contents, [field]: value })).toThrow(
        expect.objectContaining({ code: 'unsupported_parameter', param: field }),
      );
    }
  });

  it('either parses or throws a GatewayError for arbitrary JSON', () => {
    fc.assert(
      fc.property(
        fc.record(
          { contents: fc.anything(), systemInstruction: fc.jsonValue(), tools: fc.jsonValue() },
          { requiredKeys: [] },
        ),
        (more) => {
          expect(() => refusal(more)).not.toThrow();
        },
      ),
    );
  });
});

describe('the generateContent response', () => {
  const answer = { id: 'r1', created: 0, model: 'm', usage: { input: 12, output: 9 } };
  const reply = { content: 'Hi.', refusal: null, toolCalls: [], finishReason: 'stop' as const, usage: null };

  it('has every member that clients read, and counts thought tokens apart from candidate tokens', () => {
    const usage = { inputTokens: 12, outputTokens: 9, cachedTokens: 3, reasoningTokens: 4 };
    expect(geminiResponse({ ...answer, reply: { ...reply, usage } })).toEqual({
      candidates: [{ content: { role: 'model', parts: [{ text: 'Hi.' }] }, finishReason: 'STOP', index: 0 }],
      usageMetadata: {
        promptTokenCount: 12,
        candidatesTokenCount: 5,
        totalTokenCount: 21,
        thoughtsTokenCount: 4,
        cachedContentTokenCount: 3,
      },
      modelVersion: 'm',
      responseId: 'r1',
    });
  });

  it('marks the thoughts of the model, so that clients do not take them for the answer', () => {
    expect(geminiResponse({ ...answer, reply: { ...reply, reasoning: 'First.' } })).toMatchObject({
      candidates: [{ content: { parts: [{ text: 'First.', thought: true }, { text: 'Hi.' }] } }],
    });
  });

  it.each([
    ['Hi.', 'No.', [{ text: 'Hi.' }, { text: 'No.' }]],
    ['', 'No.', [{ text: 'No.' }]],
    [null, 'No.', [{ text: 'No.' }]],
  ])('has the content %j and the refusal %j, as a stream has', (content, refusal, parts) => {
    const refused = { ...reply, content, refusal };
    expect(geminiResponse({ ...answer, reply: refused }).candidates[0]?.content.parts).toEqual(parts);
    const streamed = textsOf(refused, toDeltas(refused).filter(isContent));
    expect(streamed.join('')).toBe(parts.map(({ text }) => text).join(''));
  });

  /** The texts of the parts of a streamed answer, thoughts in brackets. */
  const textsOf = (of: ChatReply, deltas: ChatDelta[]): string[] => {
    const writer = geminiStream({ ...answer, requestId: 'req_1', includeUsage: true });
    const pieces = deltas.map((delta) => writer.pieces([delta]));
    const text = pieces.join('') + writer.end({ ...answer, reply: of, credits: 3, attempts: 1 });
    const events = text.split('\n\n').filter(Boolean);
    return events.flatMap((event) => {
      const { candidates } = JSON.parse(event.slice('data: '.length)) as ReturnType<typeof geminiResponse>;
      return candidates.flatMap(({ content }) =>
        content.parts.map((part) => (part.thought ? `(${part.text})` : (part.text ?? 'call'))),
      );
    });
  };
  const text = (words: string): ChatDelta => ({ kind: 'text', text: words });

  it.each<[what: string, deltas: ChatDelta[], texts: string[]]>([
    ['its last character', [text('Hello'), text(' you')], ['Hell', 'o yo', 'u']],
    ['a character of two units', [text('A fox 🦊')], ['A fox ', '🦊']],
    ['all of a single character', [text('4')], ['4']],
    ['nothing, if there is nothing', [], ['']],
    [
      'no more than the text after the last thought',
      [text('A'), { kind: 'reasoning', text: 'Hm.' }, text('B.')],
      ['A', '(Hm.)', 'B', '.'],
    ],
  ])(
    'keeps for the last event of a stream %s, because clients forget a turn with an empty text',
    (_, deltas, texts) => {
      expect(textsOf({ ...reply, content: null }, deltas)).toEqual(texts);
    },
  );

  it('loses no character before a call, or where a stream breaks off', () => {
    const calling = { ...reply, toolCalls: [{ id: 'c1', name: 'f', arguments: '{}' }] };
    expect(textsOf(calling, [text('Let me see.')])).toEqual(['Let me see', '.', 'call']);
    const writer = geminiStream({ ...answer, requestId: 'req_1', includeUsage: true });
    const broken = writer.pieces([text('Hal')]) + writer.error(new GatewayError('upstream_error'));
    expect([...broken.matchAll(/"text":"(\w+)"/g)].map(([, one]) => one)).toEqual(['Ha', 'l']);
  });

  it('has counts in each event of a stream, because clients demand them, and counts what it used in the last one only', () => {
    const writer = geminiStream({ ...answer, requestId: 'req_1', includeUsage: true });
    const first: unknown = JSON.parse(writer.pieces([{ kind: 'text', text: 'Hi.' }]).slice('data: '.length));
    const last: unknown = JSON.parse(writer.end({ ...answer, reply, credits: 3, attempts: 1 }).slice('data: '.length));
    expect([first, last]).toMatchObject([
      { usageMetadata: { promptTokenCount: 0, candidatesTokenCount: 0, totalTokenCount: 0 } },
      { usageMetadata: { promptTokenCount: 12, candidatesTokenCount: 9, totalTokenCount: 21 } },
    ]);
  });

  it('returns call arguments as objects, and reports a call whose arguments are not valid JSON', () => {
    const toolCalls = [{ id: 'c1', name: 'f', arguments: '{"a":1}', signature: 'S' }];
    const calling = { ...reply, content: null, toolCalls, finishReason: 'tool_calls' as const };
    expect(geminiResponse({ ...answer, reply: calling })).toMatchObject({
      candidates: [
        {
          content: { parts: [{ functionCall: { id: 'c1', name: 'f', args: { a: 1 } }, thoughtSignature: 'S' }] },
          finishReason: 'STOP',
        },
      ],
    });
    const broken = { ...calling, toolCalls: [{ id: 'c1', name: 'f', arguments: '{"a":' }] };
    expect(geminiResponse({ ...answer, reply: broken })).toMatchObject({
      candidates: [{ content: { parts: [] }, finishReason: 'MALFORMED_FUNCTION_CALL' }],
    });
  });

  it.each([
    ['length', 'MAX_TOKENS'],
    ['content_filter', 'SAFETY'],
  ] as const)('maps the finish reason %s to %s', (finishReason, word) => {
    expect(geminiResponse({ ...answer, reply: { ...reply, finishReason } })).toMatchObject({
      candidates: [{ finishReason: word }],
    });
  });
});
