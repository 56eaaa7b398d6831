import { describe, expect, it } from '@jest/globals';
import {
  checkChatModel,
  checkConversation,
  splitDataUri,
  toUpstreamChat,
  type ChatRequest,
} from '../../../src/domain/chat/chat.ts';
import { familiesTaking, unsupportedBy, type ChatSupports } from '../../../src/domain/chat/chat-supports.ts';
import type { JsonObject } from '../../../src/domain/json.ts';
import { fromGeminiSchema } from '../../../src/domain/chat/gemini-schema.ts';
import { loadCatalog } from '../../../src/services/catalog/load-catalog.ts';

const asking = (more: Partial<ChatRequest> = {}): ChatRequest => ({
  model: 'm',
  messages: [{ role: 'user', content: 'hello' }],
  tools: [],
  maxTokens: 1_024,
  extra: {},
  ...more,
});
const picture = asking({
  messages: [{ role: 'user', content: [{ type: 'image', url: 'data:image/png;base64,AAAA' }] }],
});
const all: ChatSupports = {
  parameters: ['top_k', 'seed', 'stop', 'parallel_tool_calls'],
  stopMax: 4,
  blankStops: true,
  gemini: true,
  extra: true,
};
const none: ChatSupports = {
  lacksJsonObject: true,
  parameters: [],
  stopMax: 0,
  blankStops: false,
  extra: false,
};

describe('a family without support', () => {
  it.each<[string, Partial<ChatRequest>]>([
    ['response_format', { responseFormat: { type: 'json_object' }, isOfSpec: true }],
    ['seed', { seed: 0 }],
    ['top_k', { topK: 1 }],
    ['parallel_tool_calls', { parallelToolCalls: false }],
    ['stop', { stop: ['a'] }],
    ['stop', { stop: ['\n'] }],
    ['verbosity', { extra: { verbosity: 'low' } }],
    ['generationConfig.thinkingConfig', { gemini: { thinkingConfig: { thinkingBudget: 0 } } }],
    ['safetySettings', { gemini: { safetySettings: [{}] } }],
  ])('for %s is excluded before any credits are held', (field, more) => {
    expect(unsupportedBy(none, asking(more))).toBe(field);
    expect(unsupportedBy(all, asking(more))).toBeNull();
    const supports = (family: string) => ({ all, none })[family];
    expect(familiesTaking({ none: {}, all: {}, media: {} }, supports, asking(more))).toEqual(['all']);
    expect(() => familiesTaking({ none: {} }, supports, asking(more))).toThrow(
      expect.objectContaining({ code: 'unsupported_parameter', param: field }),
    );
  });

  const user = (content: string) => ({ role: 'user' as const, content });
  const assistant = (content: string) => ({ role: 'assistant' as const, content, toolCalls: [] });
  it.each<[string, ChatRequest['messages'], number | null]>([
    ['alone', [user('\n')], 0],
    ['between answers', [user('a'), assistant('b'), user(' '), assistant('c'), user('d')], 2],
    ['after instructions', [{ role: 'system', content: 'a' }, user(' ')], 1],
    ['beside a message with text', [user(' '), user('a')], null],
    ['after a blank answer', [user('a'), assistant(' '), user(' ')], null],
    ['that is empty', [user(''), user('a'), assistant('b'), user('')], null],
  ])('for a turn of the user that is only white space is excluded: %s', (_what, messages, index) => {
    const supports = { ...all, refusesBlankTurns: true as const };
    const param = index === null ? null : `messages.${index}.content`;
    expect(unsupportedBy(supports, asking({ messages }))).toBe(param);
    expect(unsupportedBy(all, asking({ messages }))).toBeNull();
    if (param === null) return;
    expect(() => familiesTaking({ one: {} }, () => supports, asking({ messages }))).toThrow(
      expect.objectContaining({
        code: 'unsupported_parameter',
        param,
        message: expect.stringContaining('white space'),
      }),
    );
  });

  it('is not chosen for a forced tool call if its model refuses one', () => {
    const upstream = { none: { no_forced_tools: true }, all: {} };
    const supports = (family: string) => ({ all, none })[family];
    for (const toolChoice of ['required', { name: 'look' }] as const) {
      expect(familiesTaking(upstream, supports, asking({ toolChoice }))).toEqual(['all']);
      expect(() => familiesTaking({ none: upstream.none }, supports, asking({ toolChoice }))).toThrow(
        expect.objectContaining({ code: 'unsupported_parameter', param: 'tool_choice' }),
      );
    }
    for (const toolChoice of ['auto', 'none'] as const) {
      expect(familiesTaking(upstream, supports, asking({ toolChoice }))).toEqual(['none', 'all']);
    }
  });

  it('takes as many tools as its mapping says, or else the family', () => {
    const supports = () => ({ ...all, toolsMax: 3 });
    const tools = (count: number) =>
      asking({ tools: Array.from({ length: count }, (_, index) => ({ name: `t${index}` })) });
    const upstream = { usual: {}, many: { tools_max: 5 }, few: { tools_max: 2 } };
    expect(familiesTaking(upstream, supports, tools(2))).toEqual(['usual', 'many', 'few']);
    expect(familiesTaking(upstream, supports, tools(3))).toEqual(['usual', 'many']);
    expect(familiesTaking(upstream, supports, tools(5))).toEqual(['many']);
    expect(() => familiesTaking(upstream, supports, tools(6))).toThrow(
      expect.objectContaining({
        code: 'unsupported_parameter',
        param: 'tools',
        message: 'tools: this model takes at most 3 tools, and this request offers 6.',
      }),
    );
  });

  it('is judged by the API that serves its model', () => {
    const supports = (_family: string, api?: string) => (api === 'responses' ? none : all);
    const request = asking({ stop: ['END'] });
    expect(familiesTaking({ old: {}, next: { api: 'responses' } }, supports, request)).toEqual(['old']);
  });

  it('takes a reasoning effort if it translates one and its model thinks', () => {
    const supports = () => ({ ...none, translates: ['reasoning_effort'] });
    const effort = (reasoning_effort: string) => asking({ extra: { reasoning_effort } });
    expect(familiesTaking({ deep: { thinking: 'adaptive' }, shallow: {} }, supports, effort('low'))).toEqual(['deep']);
    expect(() => familiesTaking({ deep: { thinking: 'adaptive' } }, supports, effort('deeply'))).toThrow(
      expect.objectContaining({ code: 'unsupported_parameter', param: 'reasoning_effort' }),
    );
  });

  it('takes a field that has no effect', () => {
    for (const extra of [{ metadata: { a: 'b' } }, { prompt_cache_key: 'k' }] as JsonObject[]) {
      expect(unsupportedBy(none, asking({ extra }))).toBeNull();
      expect(unsupportedBy(all, asking({ extra }))).toBeNull();
    }
    expect(unsupportedBy(none, asking({ extra: { metadata: {}, reasoning_effort: 'low' } }))).toBe('reasoning_effort');
  });

  it('still serves plain chats, unless it offers no chat', () => {
    for (const more of [{}, picture, { responseFormat: { type: 'text' as const } }, { parallelToolCalls: true }]) {
      expect(unsupportedBy(none, asking(more))).toBeNull();
    }
    expect(familiesTaking({ media: {} }, () => undefined, asking())).toEqual([]);
  });
});

describe('a family that passes fields through', () => {
  const costly = [
    'store',
    'provider',
    'enable_search',
    'fallbacks',
    'chat_template',
    'service_tier',
    'web_search_options',
  ];
  it.each(costly)('is not sent %s, unless its catalog entry lists it', (field) => {
    const request = asking({ extra: { [field]: true } });
    expect(unsupportedBy(all, request)).toBe(field);
    expect(unsupportedBy(all, request, [field])).toBeNull();
    expect(familiesTaking({ all: { pass_through: [field] } }, () => all, request)).toEqual(['all']);
    expect(() => familiesTaking({ all: {} }, () => all, request)).toThrow(
      expect.objectContaining({ code: 'unsupported_parameter', param: field }),
    );
  });

  it('is sent only what its own list has, also of the fields that are allowed by default', () => {
    for (const more of [{ extra: { verbosity: 'low' } }, { parallelToolCalls: true }, { parallelToolCalls: false }]) {
      expect(unsupportedBy(all, asking(more))).toBeNull();
      expect(unsupportedBy(all, asking(more), [])).toBe('extra' in more ? 'verbosity' : 'parallel_tool_calls');
    }
  });

  it('is refused if the catalog fixes it, and accepted of a parameter that is not sent', () => {
    const request = asking({ extra: { reasoning_effort: 'high' } });
    const fixed = { reasoning_effort: 'none' };
    expect(() => familiesTaking({ only: { fixed } }, () => all, request)).toThrow(
      expect.objectContaining({ code: 'unsupported_parameter', param: 'reasoning_effort' }),
    );
    expect(familiesTaking({ first: { fixed }, second: {} }, () => all, request)).toEqual(['second']);
    const withTopK = asking({ topK: 5 });
    const families = { first: {}, second: { parameters: { top_k: null } } };
    expect(familiesTaking(families, () => ({ ...all, parameters: [] }), withTopK)).toEqual(['second']);
  });

  it('of several is chosen by its list', () => {
    const request = asking({ extra: { store: true } });
    expect(familiesTaking({ first: {}, second: { pass_through: ['store'] } }, () => all, request)).toEqual(['second']);
  });
});

describe('a chat model', () => {
  it('accepts chats, and images only if its catalog entry lists them', async () => {
    const { entries } = await loadCatalog('catalog');
    const check = (id: string, request: ChatRequest) => () => {
      const entry = entries.find(({ model }) => model.id === id);
      if (!entry) throw new Error(`no ${id}`);
      checkChatModel(entry.model, request);
    };
    expect(check('gpt-5-mini', picture)).not.toThrow();
    expect(check('deepseek-v3.2', asking())).not.toThrow();
    expect(check('deepseek-v3.2', picture)).toThrow(
      expect.objectContaining({ code: 'unsupported_parameter', param: 'messages' }),
    );
    expect(check('veo-3.1', asking())).toThrow(
      expect.objectContaining({ code: 'model_type_mismatch', param: 'model' }),
    );
  });

  it("is sent under the provider's name, without the parameters that the catalog leaves out", () => {
    const request = asking({ seed: 1, temperature: 0.5, topP: 0.9, topK: 5, stop: ['.'] });
    const parameters = { temperature: null, top_p: null, top_k: null, stop: null };
    const sent = toUpstreamChat(request, { model: 'theirs', parameters, fixed: { reasoning_effort: 'none' } });
    expect(sent).toMatchObject({ model: 'theirs', seed: 1, fixed: { reasoning_effort: 'none' } });
    const left = [sent.temperature, sent.topP, sent.topK, sent.stop];
    expect(left).toEqual([undefined, undefined, undefined, undefined]);
    expect(toUpstreamChat(request, { model: 'theirs', parameters: {} })).toMatchObject({ temperature: 0.5, topP: 0.9 });
  });
});

describe('a conversation', () => {
  const call = { id: 'c1', name: 'f', arguments: '{}' };
  it('must have content', () => {
    for (const content of ['', [], [{ type: 'text' as const, text: '' }]]) {
      expect(() =>
        checkConversation(
          [
            { role: 'user', content },
            { role: 'system', content: '' },
          ],
          'messages',
        ),
      ).toThrow(expect.objectContaining({ code: 'invalid_value', param: 'messages' }));
    }
    expect(() =>
      checkConversation(
        [
          { role: 'user', content: '' },
          { role: 'system', content: 'x' },
        ],
        'messages',
      ),
    ).not.toThrow();
    expect(() => checkConversation(picture.messages, 'messages')).not.toThrow();
    expect(() =>
      checkConversation([{ role: 'assistant', content: null, toolCalls: [call] }], 'messages'),
    ).not.toThrow();
  });

  it('must not have a tool result before its call', () => {
    const answer = { role: 'tool' as const, toolCallId: 'c1', content: 'x' };
    const made = { role: 'assistant' as const, content: null, toolCalls: [call] };
    expect(() => checkConversation([made, answer], 'messages')).not.toThrow();
    expect(() => checkConversation([answer, made], 'messages')).toThrow(
      expect.objectContaining({ param: 'messages.0.tool_call_id' }),
    );
  });
});

describe('a data URI', () => {
  it('is split into its type and its base64 text', () => {
    expect(splitDataUri('data:image/PNG;base64,AAAA')).toEqual({ mimeType: 'image/png', base64: 'AAAA' });
    for (const other of ['https://example.com/,', 'data:,x', 'data:image/png,AAAA', 'data:;base64,AAAA', '']) {
      expect(splitDataUri(other)).toBeNull();
    }
  });
});

describe('a Gemini schema', () => {
  it('becomes JSON Schema, but its enum values and defaults stay unchanged', () => {
    expect(
      fromGeminiSchema({
        type: 'OBJECT',
        properties: {
          type: { type: 'STRING', nullable: true, enum: ['STRING'] },
          list: { type: 'ARRAY', items: { anyOf: [{ type: 'INTEGER' }, { type: 'string' }] } },
        },
        required: ['type'],
        default: { type: 'OBJECT' },
      }),
    ).toEqual({
      type: 'object',
      properties: {
        type: { anyOf: [{ type: 'string', enum: ['STRING'] }, { type: 'null' }] },
        list: { type: 'array', items: { anyOf: [{ type: 'integer' }, { type: 'string' }] } },
      },
      required: ['type'],
      default: { type: 'OBJECT' },
    });
  });

  it('has numbers for the limits that the types of Google’s SDKs write as text', () => {
    const words = ['minItems', 'maxItems', 'minLength', 'maxLength', 'minProperties', 'maxProperties'];
    const limits = (value: JsonObject[string]) => Object.fromEntries(words.map((word) => [word, value]));
    const list = (value: JsonObject[string]) => ({ type: 'array', items: limits(value), ...limits(value) });
    expect(fromGeminiSchema(list('3'))).toEqual(list(3));
    expect(fromGeminiSchema(list(3))).toEqual(list(3));
    expect(fromGeminiSchema({ properties: { maxItems: { type: 'STRING' } }, default: '3' })).toEqual({
      properties: { maxItems: { type: 'string' } },
      default: '3',
    });
  });
});
