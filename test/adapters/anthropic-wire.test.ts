import type { MessageCreateParamsNonStreaming } from '@anthropic-ai/sdk/resources/messages';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createAnthropic } from '../../src/adapters/anthropic.ts';
import type { ChatMessage, ToolCall, UpstreamChat } from '../../src/domain/chat/chat.ts';
import type { JsonObject } from '../../src/domain/json.ts';
import { openWire, type Wire } from './open-wire.ts';

/** A request as the SDK types it. Its types no longer have the sampling parameters, which the older models still take. */
type Sent = MessageCreateParamsNonStreaming & { temperature?: number; top_p?: number; top_k?: number };

/** A request with fields that only Anthropic knows. */
const own = (fields: JsonObject, betas: string[] = []): Partial<UpstreamChat> => ({
  vendor: { api: 'anthropic', fields, paths: Object.keys(fields), betas },
});

describe('a chat for Anthropic', () => {
  let wire: Wire;
  beforeAll(async () => {
    wire = await openWire({ create: createAnthropic, credential: 'key' });
  });
  afterAll(() => wire.close());

  const asking = (more: Partial<UpstreamChat>): UpstreamChat => ({
    model: 'claude',
    messages: [{ role: 'user', content: 'Hi' }],
    tools: [],
    maxTokens: 4_096,
    extra: {},
    ...more,
  });
  const sent = async (more: Partial<UpstreamChat>) => (await wire.chat(asking(more))).body;
  const plain = {
    model: 'claude',
    max_tokens: 4_096,
    messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }],
  } satisfies Sent;
  const effort = (reasoning_effort: string, thinking: 'adaptive' | 'budget'): Partial<UpstreamChat> => ({
    extra: { reasoning_effort },
    traits: { thinking },
  });

  it('has a temperature or a top_p, never both', async () => {
    expect(await sent({ temperature: 0.5, topP: 0.9, topK: 40 })).toEqual({
      ...plain,
      temperature: 0.5,
      top_k: 40,
    } satisfies Sent);
    expect(await sent({ topP: 0.9 })).toEqual({ ...plain, top_p: 0.9 } satisfies Sent);
  });

  const fromUser = (text: string) => ({ role: 'user' as const, content: text });
  const answered = (content: ChatMessage['content'], toolCalls: ToolCall[] = []) => ({
    role: 'assistant' as const,
    content,
    toolCalls,
  });
  const call = { id: 'c1', name: 'f', arguments: '{}' };
  const used = { type: 'tool_use', id: 'c1', name: 'f', input: {} };
  const block = (...texts: string[]) => texts.map((text) => ({ type: 'text', text }));
  it.each<[string, ChatMessage[], object]>([
    [
      'a blank answer is left out',
      [fromUser('a'), answered(' '), fromUser('b')],
      { messages: [{ role: 'user', content: block('a', 'b') }] },
    ],
    [
      'a blank text beside a call is left out',
      [
        fromUser('a'),
        answered([{ type: 'text', text: '\n' }], [call]),
        { role: 'tool', toolCallId: 'c1', content: ' ' },
      ],
      {
        messages: [
          { role: 'user', content: block('a') },
          { role: 'assistant', content: [used] },
          { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', content: block(' ') }] },
        ],
      },
    ],
    [
      'blank instructions are left out',
      [
        { role: 'system', content: '  ' },
        { role: 'developer', content: [{ type: 'text', text: '\t' }] },
        fromUser('a'),
      ],
      { messages: [{ role: 'user', content: block('a') }] },
    ],
    [
      'a blank message beside another of the user is left out',
      [fromUser('a'), fromUser('\n')],
      { messages: [{ role: 'user', content: block('a') }] },
    ],
    [
      'a greeting of the assistant comes after a turn of the user',
      [answered('Welcome!'), fromUser('a')],
      {
        messages: [
          { role: 'user', content: block('Please begin.') },
          { role: 'assistant', content: block('Welcome!') },
          { role: 'user', content: block('a') },
        ],
      },
    ],
    [
      'the beginning of an answer loses the white space at its end',
      [fromUser('a'), answered('It is \n')],
      {
        messages: [
          { role: 'user', content: block('a') },
          { role: 'assistant', content: block('It is') },
        ],
      },
    ],
    [
      'an earlier answer keeps the white space at its end',
      [fromUser('a'), answered('It is \n'), fromUser('b')],
      {
        messages: [
          { role: 'user', content: block('a') },
          { role: 'assistant', content: block('It is \n') },
          { role: 'user', content: block('b') },
        ],
      },
    ],
  ])('is a conversation that Anthropic takes: %s', async (_what, messages, expected) => {
    expect(await sent({ messages })).toEqual({ ...plain, ...expected });
  });

  const instructed = (content: string, vendor?: JsonObject): ChatMessage => ({
    role: 'system',
    content,
    ...(vendor && { vendor }),
  });
  const turn = (role: string, ...texts: string[]) => ({ role, content: block(...texts) });
  it.each<[string, ChatMessage[], object]>([
    [
      'at its beginning are for all of it',
      [instructed('x'), instructed('y'), fromUser('a')],
      { system: 'x\n\ny', messages: [turn('user', 'a')] },
    ],
    [
      'after a turn of the user stay there',
      [instructed('x'), fromUser('a'), instructed('y'), answered('b'), fromUser('c'), instructed('z')],
      {
        system: 'x',
        messages: [
          turn('user', 'a'),
          turn('system', 'y'),
          turn('assistant', 'b'),
          turn('user', 'c'),
          turn('system', 'z'),
        ],
      },
    ],
    [
      'before a turn of the user come after it, as one',
      [fromUser('a'), answered('b'), instructed('x'), fromUser('c'), instructed('y')],
      { messages: [turn('user', 'a'), turn('assistant', 'b'), turn('user', 'c'), turn('system', 'x', 'y')] },
    ],
    [
      'without a turn of the user before them are for all of it',
      [fromUser('a'), answered('b'), instructed('x')],
      { system: 'x', messages: [turn('user', 'a'), turn('assistant', 'b')] },
    ],
    [
      'may have nothing but the effort of the turn',
      [fromUser('a'), instructed('', { output_config: { effort: 'low' } })],
      { messages: [turn('user', 'a'), { role: 'system', output_config: { effort: 'low' } }] },
    ],
  ])('has the instructions where a model takes them: those %s', async (_what, messages, expected) => {
    expect(await sent({ messages, traits: { system_turns: true } })).toEqual({ ...plain, ...expected });
    const { messages: turns } = (await sent({ messages })) as Sent;
    expect(turns.map(({ role }) => role)).not.toContain('system');
  });

  it.each<[string, Partial<UpstreamChat>, string | undefined]>([
    ['none', {}, undefined],
    [
      'an edit of the context',
      own({ context_management: { edits: [{ type: 'clear_tool_uses_20250919' }] } }),
      'context-management-2025-06-27',
    ],
    ['a binding of thoughts', own({ thinking: { block_binding: {} } }), 'thinking-binding-controls-2026-08-01'],
    [
      'an effort of a turn',
      { messages: [fromUser('a'), instructed('b', { output_config: { effort: 'low' } })] },
      'mid-conversation-output-config-2026-07-01',
    ],
    ['what its client switches on', own({}, ['effort-2025-11-24', 'made-up-2020-01-01']), 'effort-2025-11-24'],
    ['not a compaction, which is billed apart from the answer', own({}, ['compact-2026-01-12']), undefined],
    [
      'what its client and its fields switch on',
      own({ context_management: { edits: [{ type: 'x' }] } }, ['effort-2025-11-24', 'context-management-2025-06-27']),
      'effort-2025-11-24,context-management-2025-06-27',
    ],
  ])('names the beta features that it has: %s', async (_what, more, expected) => {
    const { sent: request } = await wire.chat(asking(more));
    expect(request.headers['anthropic-beta']).toBe(expected);
  });

  it('says which parameters of its client it left out or changed, and nothing about a default', () => {
    const warnings = (more: Partial<UpstreamChat>) => wire.adapter.chatWarnings?.(asking(more));
    expect(warnings({ temperature: 0.5, topK: 40 })).toEqual([]);
    expect(warnings({ temperature: 0.5, topP: 0.9 })).toEqual([expect.stringContaining('does not take top_p')]);
    expect(warnings({ temperature: 1.5 })).toEqual([expect.stringContaining('temperature was sent as 1')]);
    const thinking = effort('high', 'adaptive');
    expect(warnings({ ...thinking, temperature: 0.7, isDefaultTemperature: true })).toEqual([]);
    expect(warnings({ ...thinking, temperature: 0.7, topK: 9 })).toEqual([
      expect.stringContaining('does not take temperature and top_k'),
    ]);
  });

  it('asks for an answer by a schema, without the constraints that Anthropic refuses', async () => {
    const schema: JsonObject = {
      type: 'object',
      properties: {
        age: { type: 'integer', minimum: 0, description: 'In years.' },
        names: { type: 'array', items: { type: 'string', maxLength: 9 }, minItems: 1, uniqueItems: true },
        kind: { oneOf: [{ const: 'fox' }, { $ref: '#/$defs/other' }] },
      },
      required: ['age'],
      $defs: { other: { type: 'object', properties: {}, additionalProperties: true } },
    };
    const responseFormat = { type: 'json_schema', name: 'animal', schema, strict: true } as const;
    expect(await sent({ responseFormat })).toEqual({
      ...plain,
      output_config: {
        format: {
          type: 'json_schema',
          schema: {
            type: 'object',
            properties: {
              age: { type: 'integer', description: 'In years.\n\n{minimum: 0}' },
              names: {
                type: 'array',
                items: { type: 'string', description: '{maxLength: 9}' },
                minItems: 1,
                description: '{uniqueItems: true}',
              },
              kind: { anyOf: [{ const: 'fox' }, { $ref: '#/$defs/other' }] },
            },
            required: ['age'],
            $defs: { other: { type: 'object', properties: {}, additionalProperties: false } },
            additionalProperties: false,
          },
        },
      },
    } satisfies Sent);
  });

  it('has strict tools, with a schema that Anthropic takes', async () => {
    const parameters = { type: 'object', properties: { zoom: { type: 'number', maximum: 4 } } };
    expect(await sent({ tools: [{ name: 'look', parameters, strict: true }] })).toEqual({
      ...plain,
      tools: [
        {
          name: 'look',
          strict: true,
          input_schema: {
            type: 'object',
            properties: { zoom: { type: 'number', description: '{maximum: 4}' } },
            additionalProperties: false,
          },
        },
      ],
    } satisfies Sent);
  });

  it('sends a tool of Anthropic’s own by its type alone', async () => {
    const vendor = { type: 'text_editor_20250728', max_characters: 5_000 };
    const tool = { name: 'str_replace_based_edit_tool', description: 'Edits.', parameters: {}, vendor };
    expect(await sent({ tools: [{ ...tool, cacheControl: { type: 'ephemeral' } }] })).toEqual({
      ...plain,
      tools: [
        {
          type: 'text_editor_20250728',
          name: 'str_replace_based_edit_tool',
          max_characters: 5_000,
          cache_control: { type: 'ephemeral' },
        },
      ],
    } satisfies Sent);
  });

  it('keeps the marks for the prompt cache of messages, results and tools', async () => {
    const cacheControl = { type: 'ephemeral' } as const;
    const hour = { type: 'ephemeral', ttl: '1h' } as const;
    const messages: UpstreamChat['messages'] = [
      { role: 'system', content: [{ type: 'text', text: 'A long book.', cacheControl: hour }] },
      { role: 'user', content: [{ type: 'image', url: 'https://example.com/a.png', cacheControl }] },
      { role: 'assistant', content: null, toolCalls: [{ id: 'c1', name: 'look', arguments: '{}' }] },
      { role: 'tool', toolCallId: 'c1', content: [{ type: 'text', text: 'a fox', cacheControl }] },
    ];
    expect(await sent({ messages, tools: [{ name: 'look', cacheControl }] })).toEqual({
      model: 'claude',
      max_tokens: 4_096,
      system: [{ type: 'text', text: 'A long book.', cache_control: hour }],
      messages: [
        {
          role: 'user',
          content: [
            { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' }, cache_control: cacheControl },
          ],
        },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'c1', name: 'look', input: {} }] },
        {
          role: 'user',
          content: [
            {
              type: 'tool_result',
              tool_use_id: 'c1',
              cache_control: cacheControl,
              content: [{ type: 'text', text: 'a fox' }],
            },
          ],
        },
      ],
      tools: [{ name: 'look', input_schema: { type: 'object', properties: {} }, cache_control: cacheControl }],
    } satisfies Sent);
  });

  it('sends an effort to a model that decides itself how long it thinks', async () => {
    const thinking = { type: 'adaptive', display: 'summarized' } as const;
    const high = { ...plain, thinking, output_config: { effort: 'high' } } satisfies Sent;
    expect(await sent({ ...effort('high', 'adaptive'), temperature: 0.7, topK: 9 })).toEqual(high);
    const low = { ...plain, thinking, output_config: { effort: 'low' } } satisfies Sent;
    expect(await sent(effort('minimal', 'adaptive'))).toEqual(low);
    const none = { ...plain, temperature: 0.7, thinking: { type: 'disabled' } } satisfies Sent;
    expect(await sent({ ...effort('none', 'adaptive'), temperature: 0.7 })).toEqual(none);
    expect(await sent({ traits: { thinking: 'adaptive' } })).toEqual(plain);
  });

  it('sends a budget to an older model, at most half of the answer and not with a forced tool or a tool result', async () => {
    const thinking = (budget_tokens: number) => ({ ...plain, thinking: { type: 'enabled' as const, budget_tokens } });
    expect(await sent(effort('low', 'budget'))).toEqual(thinking(1_024) satisfies Sent);
    expect(await sent(effort('max', 'budget'))).toEqual(thinking(2_048) satisfies Sent);
    expect(await sent({ ...effort('low', 'budget'), maxTokens: 2_000 })).toEqual({ ...plain, max_tokens: 2_000 });
    const tools = [{ name: 'look' }];
    expect(await sent({ ...effort('low', 'budget'), tools, toolChoice: 'required' })).not.toHaveProperty('thinking');
    const messages: UpstreamChat['messages'] = [
      { role: 'assistant', content: null, toolCalls: [{ id: 'c1', name: 'look', arguments: '{}' }] },
      { role: 'tool', toolCallId: 'c1', content: 'a fox' },
    ];
    expect(await sent({ ...effort('low', 'budget'), messages })).not.toHaveProperty('thinking');
  });

  const newest = (thinking_off?: 'between_tools' | 'never'): Partial<UpstreamChat> => ({
    traits: { thinking: 'adaptive', thinking_off },
  });
  it.each<[string, Partial<UpstreamChat>, object]>([
    ['a model that takes the word', newest(), { thinking: { type: 'disabled' } }],
    ['a model with another word', newest('between_tools'), { thinking: { type: 'between_tools' } }],
    ['a model that always thinks', newest('never'), { output_config: { effort: 'low' } }],
    ['an older model', { traits: { thinking: 'budget' } }, { thinking: { type: 'disabled' } }],
  ])('asks %s not to think, for an effort as for the switch of the client', async (_what, traits, expected) => {
    expect(await sent({ ...traits, extra: { reasoning_effort: 'none' } })).toEqual({ ...plain, ...expected });
    expect(await sent({ ...traits, thinking: { mode: 'off' } })).toEqual({ ...plain, ...expected });
  });

  it('sends no effort above `high` to a model that is asked not to think, and says so of one that always thinks', async () => {
    const off = { thinking: { mode: 'off' as const }, extra: { reasoning_effort: 'max' } };
    const between = { thinking: { type: 'between_tools' }, output_config: { effort: 'high' } } as const;
    expect(await sent({ ...newest('between_tools'), ...off })).toEqual({ ...plain, ...between } satisfies Sent);
    expect(await sent({ ...newest('never'), ...off })).toEqual({ ...plain, output_config: { effort: 'max' } });
    const warningsOf = (more: Partial<UpstreamChat>) => wire.adapter.chatWarnings?.(asking(more));
    expect(warningsOf({ ...newest('never'), extra: { reasoning_effort: 'none' } })).toEqual([
      'This model always thinks. It was asked for the effort low.',
    ]);
    expect(warningsOf({ ...newest('between_tools'), ...off })).toEqual([]);
    expect(warningsOf({ traits: { thinking: 'budget', thinking_off: 'never' }, ...off })).toEqual([]);
    expect(warningsOf({ ...newest('never'), extra: { reasoning_effort: 'low' } })).toEqual([]);
  });

  const thought = { kind: 'anthropic' as const, text: 'hm', signature: 's' };
  const calling = (id: string, isThoughtful: boolean): ChatMessage => ({
    role: 'assistant',
    content: null,
    toolCalls: [{ id, name: 'f', arguments: '{}' }],
    ...(isThoughtful && { thoughts: [thought] }),
  });
  const result = (toolCallId: string): ChatMessage => ({ role: 'tool', toolCallId, content: 'a fox' });
  const thinksAndRemembers = async (messages: ChatMessage[], more: Partial<UpstreamChat>) => {
    const body = await sent({ messages: [fromUser('Hi'), ...messages], tools: [{ name: 'f' }], ...more });
    const text = JSON.stringify(body);
    return [text.includes('"budget_tokens"'), text.includes('"signature":"s"')];
  };
  it.each<[string, ChatMessage[], Partial<UpstreamChat>, [thinks: boolean, remembers: boolean]]>([
    ['a result', [calling('a', true), result('a')], {}, [true, true]],
    ['a result without thoughts', [calling('a', false), result('a')], {}, [false, false]],
    ['a result and a text', [calling('a', false), result('a'), fromUser('go on')], {}, [false, false]],
    [
      'a result and instructions',
      [calling('a', false), result('a'), { role: 'system', content: 'x' }],
      {},
      [false, false],
    ],
    [
      'two calls, the second without thoughts',
      [calling('a', true), result('a'), calling('b', false), result('b')],
      {},
      [true, true],
    ],
    [
      'two calls, the first without thoughts',
      [calling('a', false), result('a'), calling('b', true), result('b')],
      {},
      [true, true],
    ],
    ['an answer', [calling('a', false), result('a'), answered('done'), fromUser('more')], {}, [true, false]],
    ['an answer that the client began', [answered('It is')], {}, [false, false]],
    ['a result, with a forced tool', [calling('a', true), result('a')], { toolChoice: 'required' }, [false, false]],
    ['a result, with a short answer', [calling('a', true), result('a')], { maxTokens: 1_000 }, [false, false]],
    ['a result, without an effort', [calling('a', true), result('a')], { extra: {} }, [false, false]],
    [
      'a result, without thinking',
      [calling('a', true), result('a')],
      { extra: { reasoning_effort: 'none' } },
      [false, false],
    ],
  ])(
    'thinks with a budget, and sends earlier thoughts, only as Anthropic takes both: after %s',
    async (_what, messages, more, expected) => {
      expect(await thinksAndRemembers(messages, { ...effort('low', 'budget'), ...more })).toEqual(expected);
    },
  );

  it('sends no thoughts of earlier turns to a model of which the catalog does not say that it thinks', async () => {
    expect(await thinksAndRemembers([calling('a', true), result('a')], {})).toEqual([false, false]);
  });

  it('asks for an edit of thoughts only where the model may think, because Anthropic refuses it elsewhere', async () => {
    const thoughts = { type: 'clear_thinking_20251015', keep: 'all' };
    const results = { type: 'clear_tool_uses_20250919' };
    const edits = async (more: Partial<UpstreamChat>, ...wanted: JsonObject[]) =>
      ((await sent({ ...more, ...own({ context_management: { edits: wanted } }) })) as JsonObject).context_management;
    const off = { thinking: { mode: 'off' } } as const;
    const called = [fromUser('Hi'), calling('a', false), result('a')];
    for (const more of [
      { ...newest(), ...off },
      { ...effort('low', 'budget'), ...off },
      { ...effort('low', 'budget'), messages: called, tools: [{ name: 'f' }] },
      { ...effort('low', 'budget'), maxTokens: 1_000 },
    ]) {
      expect(await edits(more, thoughts, results)).toEqual({ edits: [results] });
      expect(await edits(more, thoughts)).toBeUndefined();
    }
    const on = [effort('low', 'budget'), newest(), newest('never'), { ...newest('between_tools'), ...off }];
    for (const more of on) expect(await edits(more, thoughts, results)).toEqual({ edits: [thoughts, results] });
  });

  it('sends a model that decides itself how long it thinks its thoughts, unless it is told not to think', async () => {
    const messages = [calling('a', true), result('a')];
    expect(await thinksAndRemembers(messages, { traits: { thinking: 'adaptive' } })).toEqual([false, true]);
    expect(await thinksAndRemembers(messages, effort('high', 'adaptive'))).toEqual([false, true]);
    expect(await thinksAndRemembers(messages, effort('none', 'adaptive'))).toEqual([false, false]);
    expect(await thinksAndRemembers(messages, { ...newest('between_tools'), thinking: { mode: 'off' } })).toEqual([
      false,
      true,
    ]);
  });
});
