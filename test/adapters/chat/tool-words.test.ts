import { describe, expect, it } from '@jest/globals';
import { filesAfterResults } from '../../../src/adapters/chat/sent-messages.ts';
import { OpenaiCallPieces } from '../../../src/adapters/chat/openai-call-pieces.ts';
import { plainToolSchema } from '../../../src/adapters/chat/plain-tool-schema.ts';
import { openaiToolRules, withTakenTools, type ToolRules } from '../../../src/adapters/chat/tool-words.ts';
import type { ChatMessage, ChatReply, UpstreamChat } from '../../../src/domain/chat/chat.ts';

const anthropic: ToolRules = {
  nameRefused: /[^\w-]/g,
  nameMax: 64,
  idRefused: /[^\w-]/g,
  hasUniqueIds: true,
  hasPlainSchemas: true,
};
const upstreamChat = (more: Partial<UpstreamChat>): UpstreamChat => ({
  model: 'm',
  messages: [],
  tools: [],
  maxTokens: 9,
  extra: {},
  ...more,
});
const turn = (...ids: string[]): ChatMessage => ({
  role: 'assistant',
  content: null,
  toolCalls: ids.map((id) => ({ id, name: 'look', arguments: '{}' })),
});
const result = (toolCallId: string): ChatMessage => ({ role: 'tool', toolCallId, content: 'x' });
const idsIn = (messages: readonly ChatMessage[]): string[] =>
  messages.flatMap((message) =>
    message.role === 'assistant'
      ? message.toolCalls.map(({ id }) => id)
      : message.role === 'tool'
        ? [`=${message.toolCallId}`]
        : [],
  );

describe('names of tools that a vendor refuses', () => {
  const long = 'a'.repeat(70);
  const names = ['fs.read', 'fs_read', 'fs:read', long, `${long}b`];

  it.each([
    ['Anthropic', anthropic],
    ['OpenAI', openaiToolRules(40)],
  ])('are changed without collisions for %s, and changed back in answers', (_vendor, rules) => {
    const { request, reply, delta } = withTakenTools(
      upstreamChat({ tools: names.map((name) => ({ name })), toolChoice: { name: 'fs:read' } }),
      rules,
    );
    const sent = request.tools.map(({ name }) => name);
    expect(new Set(sent).size).toBe(names.length);
    for (const name of sent) expect(name).toMatch(/^[\w-]{1,64}$/);
    expect(sent[1]).toBe('fs_read');
    expect(request.toolChoice).toEqual({ name: sent[2] });
    const toolCalls = sent.map((name, index) => ({ id: `c${index}`, name, arguments: '{}' }));
    const answer: ChatReply = { content: null, refusal: null, toolCalls, finishReason: 'tool_calls', usage: null };
    expect(reply(answer)).toMatchObject({ toolCalls: names.map((name) => ({ name })) });
    const pieces = sent.map((name, index) => delta?.({ kind: 'tool_call', index, name, arguments: '' }));
    expect(pieces).toMatchObject(names.map((name) => ({ name })));
  });

  it('are changed in earlier calls as well', () => {
    const messages: ChatMessage[] = [
      { role: 'assistant', content: null, toolCalls: [{ id: 'c', name: 'fs.read', arguments: '{}' }] },
    ];
    const { request } = withTakenTools(upstreamChat({ messages, tools: [{ name: 'fs.read' }] }), anthropic);
    expect(request.messages).toMatchObject([{ toolCalls: [{ name: 'fs_read' }] }]);
  });
});

describe('ids of tool calls', () => {
  it('that repeat are renamed turn by turn with their results for Anthropic', () => {
    const messages = [turn('call_0'), result('call_0'), turn('call_0', 'call_1'), result('call_1'), result('call_0')];
    const { request } = withTakenTools(upstreamChat({ messages }), anthropic);
    expect(idsIn(request.messages)).toEqual(['call_0', '=call_0', 'call_0_2', 'call_1', '=call_1', '=call_0_2']);
  });

  it('that repeat within a turn belong to their results in order', () => {
    const { request } = withTakenTools(
      upstreamChat({ messages: [turn('a', 'a'), result('a'), result('a')] }),
      anthropic,
    );
    expect(idsIn(request.messages)).toEqual(['a', 'a_2', '=a', '=a_2']);
  });

  it('do not collide after a change of characters', () => {
    const messages = [turn('look:1', 'look.1'), result('look.1'), result('look:1')];
    const { request } = withTakenTools(upstreamChat({ messages }), anthropic);
    expect(idsIn(request.messages)).toEqual(['look_1', 'look_1_2', '=look_1_2', '=look_1']);
  });

  it.each([40, 64] as const)('are shortened to %i characters for OpenAI, and stay apart', (max) => {
    const [one, two] = [`${'x'.repeat(305)}1`, `${'x'.repeat(305)}2`] as const;
    const { request } = withTakenTools(
      upstreamChat({ messages: [turn(one, two), result(two), result(one)] }),
      openaiToolRules(max),
    );
    const [first = '', second = '', ...results] = idsIn(request.messages);
    expect(results).toEqual([`=${second}`, `=${first}`]);
    expect(first).not.toBe(second);
    expect([first.length, second.length]).toEqual([max, max]);
  });
});

describe('the pieces of tool calls in a stream', () => {
  const piece = (more: object, name?: string, text?: string) => ({
    ...more,
    function: { ...(name !== undefined && { name }), ...(text !== undefined && { arguments: text }) },
  });
  const A = '{"q":"x"}';
  const B = '{"p":"y"}';
  it.each([
    ['without numbers', [piece({ id: 'a' }, 'look', A), piece({ id: 'b' }, 'read', B)]],
    ['with null for numbers', [piece({ index: null, id: 'a' }, 'look', A), piece({ index: null, id: 'b' }, 'read', B)]],
    ['with the number 0 for both', [piece({ index: 0, id: 'a' }, 'look', A), piece({ index: 0, id: 'b' }, 'read', B)]],
    ['counted from 1', [piece({ index: 1, id: 'a' }, 'look', A), piece({ index: 2, id: 'b' }, 'read', B)]],
    ['without ids', [piece({ index: 0 }, 'look', A), piece({ index: 1 }, 'read', B)]],
    ['without ids and numbers', [piece({}, 'look', A), piece({}, 'read', B)]],
    [
      'with the name late',
      [
        piece({ index: 0, id: 'a' }),
        piece({ index: 0 }, 'look', A),
        piece({ index: 1, id: 'b' }, undefined, '{"p"'),
        piece({ index: 1 }, 'read', ':"y"}'),
      ],
    ],
    [
      'with ids in each piece',
      [piece({ id: 'a' }, 'look', '{"q":'), piece({ id: 'a' }, undefined, '"x"}'), piece({ id: 'b' }, 'read', B)],
    ],
    [
      'with names in each piece',
      [
        piece({ index: 0, id: 'a' }, 'look', '{"q":'),
        piece({ index: 0, id: 'a' }, 'look', '"x"}'),
        piece({ index: 1, id: 'b' }, 'read', B),
      ],
    ],
    [
      'mixed',
      [
        piece({ index: 0, id: 'a' }, 'look', '{"q"'),
        piece({ index: 1, id: 'b' }, 'read', '{"p"'),
        piece({ index: 0 }, undefined, ':"x"}'),
        piece({ index: 1 }, undefined, ':"y"}'),
      ],
    ],
    [
      'mixed, without numbers',
      [
        piece({ id: 'a' }, 'look', '{"q"'),
        piece({ id: 'b' }, 'read', '{"p"'),
        piece({ id: 'a' }, undefined, ':"x"}'),
        piece({ id: 'b' }, undefined, ':"y"}'),
      ],
    ],
  ])('%s are two whole calls', (_what, pieces) => {
    const reader = new OpenaiCallPieces();
    const calls: { name: string; id: string; text: string }[] = [];
    for (const delta of pieces.map((one) => reader.add(one))) {
      if (!delta) continue;
      const call = (calls[delta.index] ??= { name: delta.name ?? '', id: delta.id ?? '', text: '' });
      call.text += delta.arguments;
    }
    expect(calls.map(({ name, text }) => [name, text])).toEqual([
      ['look', A],
      ['read', B],
    ]);
    expect(new Set(calls.map(({ id }) => id)).size).toBe(2);
    for (const { id } of calls) expect(id).not.toBe('');
    expect(reader.hasNameless).toBe(false);
  });

  it('without any name are no call', () => {
    const reader = new OpenaiCallPieces();
    expect(reader.add(piece({ index: 0, id: 'a' }, undefined, A))).toBeNull();
    expect(reader.hasNameless).toBe(true);
  });
});

describe('a schema that is a choice of schemas', () => {
  const one = { type: 'object', properties: { a: { type: 'string' }, c: { type: 'string' } }, required: ['a', 'c'] };
  const two = { type: 'object', properties: { b: { type: 'string' } }, required: ['b', 'c'] };

  it.each(['anyOf', 'oneOf'])('becomes one object with the properties of all: %s', (key) => {
    const schema = plainToolSchema({ [key]: [one, { $ref: '#/$defs/two' }], $defs: { two } });
    expect(schema).toMatchObject({
      type: 'object',
      required: ['c'],
      description: expect.stringContaining('{a, c} or {b, c}'),
    });
    expect(Object.keys(schema.properties ?? {})).toEqual(['a', 'c', 'b']);
    expect(schema).not.toHaveProperty(key);
  });

  it('requires what all parts of allOf require', () => {
    expect(plainToolSchema({ type: 'object', allOf: [one, two] })).toMatchObject({ required: ['a', 'c', 'b'] });
  });

  it('stays as it is without a choice at the top', () => {
    expect(plainToolSchema(one)).toBe(one);
  });
});

it('sends the pictures of results after all results of a turn', () => {
  const picture = { type: 'image' as const, url: 'data:image/png;base64,AAAA' };
  const messages: ChatMessage[] = [
    turn('a', 'b'),
    { role: 'tool', toolCallId: 'a', content: [picture] },
    { role: 'tool', toolCallId: 'b', content: 'text' },
    { role: 'user', content: 'go on' },
  ];
  expect(filesAfterResults(messages)).toMatchObject([
    { role: 'assistant' },
    { role: 'tool', toolCallId: 'a', content: expect.stringContaining('next message') },
    { role: 'tool', toolCallId: 'b', content: 'text' },
    { role: 'user', content: [{ type: 'text' }, picture] },
    { role: 'user', content: 'go on' },
  ]);
});

const png = { type: 'image' as const, url: 'https://a.test/b.png' };
const pdf = { type: 'document' as const, url: 'https://a.test/b.pdf', at: 'messages.1' };
it.each<[string, (typeof png | typeof pdf)[]]>([
  ['picture', [png]],
  ['document', [pdf]],
  ['3 pictures', [png, png, png]],
  ['2 documents', [pdf, pdf]],
  ['picture and document', [pdf, png]],
  ['2 pictures and 2 documents', [png, pdf, png, pdf]],
])('announces the files of a result as the %s', (words, files) => {
  const messages: ChatMessage[] = [turn('a'), { role: 'tool', toolCallId: 'a', content: files }];
  expect(filesAfterResults(messages)).toEqual([
    turn('a'),
    { role: 'tool', toolCallId: 'a', content: `The result is the ${words} in the next message.` },
    { role: 'user', content: [{ type: 'text', text: `The ${words} that the tool returned:` }, ...files] },
  ]);
});

it('leaves a picture in its result that the family takes there', () => {
  const data = { type: 'image' as const, url: 'data:image/png;base64,AAAA' };
  const url = { type: 'image' as const, url: 'https://a.test/b.png' };
  const messages: ChatMessage[] = [turn('a'), { role: 'tool', toolCallId: 'a', content: [data, url] }];
  expect(filesAfterResults(messages, (picture) => picture === data)).toMatchObject([
    { role: 'assistant' },
    { role: 'tool', content: [data] },
    { role: 'user', content: [{ type: 'text' }, url] },
  ]);
});
