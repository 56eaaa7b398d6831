import { describe, expect, it } from '@jest/globals';
import type { ChatRequest } from '../../../src/domain/chat/chat.ts';
import { GatewayError } from '../../../src/domain/errors.ts';
import type { JsonObject, JsonValue } from '../../../src/domain/json.ts';
import { readMessages, readTokenCount } from '../../../src/http/dialects/anthropic/anthropic-chat-request.ts';
import { readGeminiChat, readV1GeminiChat } from '../../../src/http/dialects/gemini/gemini-chat-request.ts';
import { readOpenaiChat, readV1OpenaiChat } from '../../../src/http/dialects/openai/openai-chat-request.ts';
import type { Reading } from '../../../src/http/dialects/reading.ts';
import { readResponses } from '../../../src/http/dialects/responses/responses-request.ts';
import { geminiWords } from '../../../src/http/dialects/gemini/gemini-params.ts';
import { ignoredFields } from '../../../src/http/request/ignored-fields.ts';

interface Dialect {
  read: (body: JsonObject, reading: Reading) => ChatRequest;
  /** A request that the dialect takes, with fields at three depths added. */
  with: (more: { top?: JsonObject; message?: JsonObject; tool?: JsonObject }) => JsonObject;
  /** The paths of the message and of the tool. */
  paths: { message: string; tool: string };
}

const schema = { type: 'object', properties: {} };
const dialects: Record<string, Dialect> = {
  chat: {
    read: readV1OpenaiChat,
    with: ({ top, message, tool }) => ({
      model: 'm',
      messages: [{ role: 'user', content: 'hi', ...message }],
      tools: [{ type: 'function', function: { name: 'f', parameters: schema, ...tool } }],
      ...top,
    }),
    paths: { message: 'messages.0', tool: 'tools.0.function' },
  },
  responses: {
    read: readResponses,
    with: ({ top, message, tool }) => ({
      model: 'm',
      input: [{ role: 'user', content: 'hi', ...message }],
      tools: [{ type: 'function', name: 'f', parameters: schema, ...tool }],
      ...top,
    }),
    paths: { message: 'input.0', tool: 'tools.0' },
  },
  messages: {
    read: readMessages,
    with: ({ top, message, tool }) => ({
      model: 'm',
      max_tokens: 10,
      messages: [{ role: 'user', content: 'hi', ...message }],
      tools: [{ name: 'f', input_schema: schema, ...tool }],
      ...top,
    }),
    paths: { message: 'messages.0', tool: 'tools.0' },
  },
  'count of tokens': {
    read: readTokenCount,
    with: ({ top, message, tool }) => ({
      model: 'm',
      messages: [{ role: 'user', content: 'hi', ...message }],
      tools: [{ name: 'f', input_schema: schema, ...tool }],
      ...top,
    }),
    paths: { message: 'messages.0', tool: 'tools.0' },
  },
  gemini: {
    read: (body, reading) => readV1GeminiChat('m', body, reading),
    with: ({ top, message, tool }) => ({
      contents: [{ role: 'user', parts: [{ text: 'hi' }], ...message }],
      tools: [{ functionDeclarations: [{ name: 'f', ...tool }] }],
      ...top,
    }),
    paths: { message: 'contents.0', tool: 'tools.0.functionDeclarations.0' },
  },
};

const tolerantly: Reading = { isStrict: false };
const strictly: Reading = { isStrict: true };

const refusalOf = (work: () => unknown): GatewayError | null => {
  try {
    work();
    return null;
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  }
};

describe.each(Object.entries(dialects))('unknown fields of the dialect %s', (name, dialect) => {
  const { read, paths } = dialect;
  const unknown = { never_heard_of: { a: 1 } };
  const plain = read(dialect.with({}), tolerantly);

  it('are left out and named at any depth', () => {
    const request = read(dialect.with({ message: unknown, tool: unknown }), tolerantly);
    expect(request.leftOut).toEqual([`${paths.message}.never_heard_of`, `${paths.tool}.never_heard_of`]);
    expect({ ...request, leftOut: [] }).toEqual(plain);
  });

  it('are taken without a word where their value asks for nothing', () => {
    const nothings: JsonValue[] = [null, [], {}, { edits: [] }, false, 0, ''];
    for (const nothing of nothings) {
      const field: JsonObject = { never_heard_of: nothing };
      const request = read(dialect.with({ top: field, message: field, tool: field }), tolerantly);
      expect(request.leftOut).toEqual([]);
      expect({ ...request, extra: {} }).toEqual({ ...plain, extra: {} });
    }
  });

  it('are refused by a strict reading', () => {
    // Chat completions have always dropped fields inside of messages and tools.
    if (name === 'chat') return;
    for (const more of [{ message: unknown }, { tool: unknown }]) {
      const [position] = Object.keys(more) as (keyof typeof paths)[];
      expect(refusalOf(() => read(dialect.with(more), strictly))).toMatchObject({
        code: 'unsupported_parameter',
        param: `${position && paths[position]}.never_heard_of`,
      });
    }
  });

  it('leave no trace of a field whose name is a member of every object', () => {
    const request = read(
      dialect.with({ message: JSON.parse('{"constructor": {"a": 1}, "toString": 1}') as JsonObject }),
      tolerantly,
    );
    expect(request.leftOut).toEqual([`${paths.message}.constructor`, `${paths.message}.toString`]);
  });
});

describe('fields that would silently change the price or the meaning', () => {
  it.each<[string, keyof typeof dialects, JsonObject, string]>([
    ['n', 'chat', { n: 2 }, 'n'],
    ['log probabilities', 'chat', { logprobs: true }, 'logprobs'],
    ['audio', 'chat', { modalities: ['text', 'audio'] }, 'modalities'],
    ['a stored answer', 'responses', { store: true }, 'store'],
    ['a background answer', 'responses', { background: true }, 'background'],
    ['log probabilities', 'responses', { top_logprobs: 3 }, 'top_logprobs'],
    ['log probabilities', 'responses', { include: ['message.output_text.logprobs'] }, 'include.0'],
    ['a faster, dearer mode', 'messages', { speed: 'fast' }, 'speed'],
    ['a region', 'messages', { inference_geo: 'us' }, 'inference_geo'],
    ['cached content', 'gemini', { cachedContent: 'cachedContents/1' }, 'cachedContent'],
    ['cached content', 'gemini', { cached_content: 'cachedContents/1' }, 'cached_content'],
    ['speech', 'gemini', { generationConfig: { speechConfig: { voice: 'x' } } }, 'generationConfig.speechConfig'],
    [
      'pictures',
      'gemini',
      { generationConfig: { responseModalities: ['IMAGE'] } },
      'generationConfig.responseModalities.0',
    ],
  ])('%s in the dialect %s are refused by name', (_what, name, top, param) => {
    const dialect = dialects[name];
    expect(refusalOf(() => dialect?.read(dialect.with({ top }), tolerantly))).toMatchObject({ param });
  });
});

describe('fields that only one vendor knows', () => {
  it('are kept apart for the family of that vendor', () => {
    const thinking = { type: 'adaptive', block_binding: { prefix_mismatch_behavior: 'drop_block' } };
    const body = dialects['messages']?.with({
      top: { context_management: { edits: [{ type: 'clear_tool_uses_20250919' }] }, thinking },
      message: { output_config: { effort: 'low' } },
      tool: { defer_loading: true, input_examples: [{ a: 1 }] },
    });
    const request = readMessages(body ?? {}, { isStrict: false, betas: ['context-management-2025-06-27'] });
    expect(request).toMatchObject({
      leftOut: [],
      vendor: {
        api: 'anthropic',
        betas: ['context-management-2025-06-27'],
        fields: {
          context_management: { edits: [{ type: 'clear_tool_uses_20250919' }] },
          thinking: { block_binding: { prefix_mismatch_behavior: 'drop_block' } },
        },
        paths: [
          'context_management',
          'thinking.block_binding',
          'messages.0.output_config',
          'tools.0.defer_loading',
          'tools.0.input_examples',
        ],
      },
      tools: [{ vendor: { defer_loading: true, input_examples: [{ a: 1 }] } }],
      messages: [{ vendor: { output_config: { effort: 'low' } } }],
    });
  });
});

describe('compactions, which a provider bills apart from its answer', () => {
  const compaction = { type: 'compact_20260112', trigger: { type: 'input_tokens', value: 150_000 } };
  const cleared = { type: 'clear_tool_uses_20250919' };
  const body = (edits: JsonObject[]) => dialects['messages']?.with({ top: { context_management: { edits } } }) ?? {};

  it('are left out by name, and the other edits are sent', () => {
    const named = ['context_management.edits.1.compact_20260112'];
    const request = readMessages(body([cleared, compaction, cleared]), tolerantly);
    const fields = { context_management: { edits: [cleared, cleared] } };
    expect(request).toMatchObject({ leftOut: named, vendor: { fields, paths: ['context_management'] } });
  });

  it('leave nothing to send where they stand alone', () => {
    const request = readMessages(body([compaction]), tolerantly);
    expect(request.leftOut).toEqual(['context_management.edits.0.compact_20260112']);
    expect(request).not.toHaveProperty('vendor');
  });

  it('are refused in a strict request', () => {
    const param = 'context_management.edits.1.type';
    expect(refusalOf(() => readMessages(body([cleared, compaction]), strictly))).toMatchObject({ param });
  });
});

describe('fields of a vendor that change nothing', () => {
  const reading = (more: { top?: JsonObject; message?: JsonObject; tool?: JsonObject }) =>
    readMessages(dialects['messages']?.with(more) ?? {}, tolerantly);
  it.each<[string, JsonObject]>([
    ['no edit of the context', { context_management: { edits: [] } }],
    ['an absent edit', { context_management: null }],
    ['an empty binding', { thinking: { type: 'adaptive', block_binding: {} } }],
  ])('are not sent to anybody: %s', (_what, top) => {
    expect(reading({ top })).not.toHaveProperty('vendor');
  });

  it.each(['all', { type: 'all' }])(
    'are sent to Anthropic, and not named where another family answers: keep %j',
    (keep) => {
      const edits = [{ type: 'clear_thinking_20251015', keep }];
      expect(reading({ top: { context_management: { edits } } })).toMatchObject({
        leftOut: [],
        vendor: { fields: { context_management: { edits } }, paths: [] },
      });
    },
  );
});

describe('instructions between the turns of messages', () => {
  const between = (system: JsonObject) =>
    readMessages(
      {
        model: 'm',
        max_tokens: 10,
        messages: [
          { role: 'user', content: 'hi' },
          { role: 'system', ...system },
        ],
      },
      tolerantly,
    );

  it('may have an effort and no text, which only Anthropic is sent', () => {
    expect(between({ output_config: { effort: 'low' } })).toMatchObject({
      messages: [{ role: 'user' }, { role: 'system', content: '', vendor: { output_config: { effort: 'low' } } }],
      vendor: { paths: ['messages.1.output_config'] },
    });
    expect(between({ content: null }).messages).toHaveLength(1);
  });

  it('say how long they count', () => {
    const request = between({ content: 'Be brief.', clear_at: 'next_user_message' });
    expect(request.messages[1]).toMatchObject({ content: 'Be brief.', vendor: { clear_at: 'next_user_message' } });
    expect(between({ content: 'Be brief.', clear_at: 'never' })).not.toHaveProperty('vendor');
  });

  it('lose changes of the tools, which are named', () => {
    const change = { type: 'tool_removal', tool: { type: 'tool_reference', name: 'f' } };
    const request = between({ content: [change, { type: 'text', text: 'No more.' }] });
    expect(request.leftOut).toEqual(['messages.1.content.0.tool_removal']);
    expect(request.messages[1]).toMatchObject({ content: [{ type: 'text', text: 'No more.' }] });
  });
});

describe('the routes of the specification', () => {
  it('refuse the fields that the others leave out', () => {
    const gemini = { contents: [{ parts: [{ text: 'hi' }] }], labels: { a: 'b' } };
    expect(refusalOf(() => readGeminiChat('m', gemini))).toMatchObject({ param: 'labels' });
    expect(readV1GeminiChat('m', structuredClone(gemini), tolerantly).leftOut).toEqual(['labels']);
    const chat = { model: 'm', messages: [{ role: 'user', content: 'hi' }], brand_new: 1 };
    expect(readOpenaiChat(chat)).not.toHaveProperty('leftOut');
  });
});

describe('x-tollgate-ignored', () => {
  it('names at most 20 fields, in characters that a header can carry', () => {
    expect(ignoredFields([])).toBeNull();
    expect(ignoredFields(['a.b', 'ü\r\n,x', '\ud800'])).toBe('a.b, %C3%BC%0D%0A%2Cx, %EF%BF%BD');
    expect(ignoredFields(Array.from({ length: 21 }, (_, index) => `f${index}`))?.endsWith('f19, ...')).toBe(true);
  });

  it('names a field of the client once that is several to the checks, as the thinkingConfig of Gemini', () => {
    const config = 'generationConfig.thinkingConfig';
    expect(ignoredFields(['reasoning_effort', 'thinking', 'seed'], geminiWords)).toBe(
      `${config}, generationConfig.seed`,
    );
  });
});
