import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../src/domain/json.ts';
import { familyWires, type FamilyName } from '../support/family-wires.ts';
import { openFamilyAnswers, type FamilyAnswers } from './family-answers.ts';

let answers: FamilyAnswers;
beforeAll(async () => {
  answers = await openFamilyAnswers();
});
afterAll(() => answers.close());

const families = Object.keys(familyWires) as FamilyName[];
const event = (json: object): string => `data: ${JSON.stringify(json)}\n\n`;
const events = (...all: object[]): string => all.map(event).join('');
const usage = { input: 10, output: 20 };
const done = (family: FamilyName): string => familyWires[family].end('stop', usage);

/** One answer in both forms. */
interface Both {
  events: string;
  whole: object;
}
const chunk = (delta: object): object => ({ choices: [{ index: 0, delta, finish_reason: null }] });
const completion = (message: object): object => ({ choices: [{ message, finish_reason: 'stop' }] });
const response = (...output: object[]): object => ({ object: 'response', status: 'completed', output });
const item = (type: string, index: number, json: object): object => ({
  type: `response.output_item.${type}`,
  output_index: index,
  item: json,
});
const message = (...content: object[]): object => ({ type: 'message', content, stop_reason: 'end_turn' });
const block = (index: number, content_block: object, ...deltas: object[]): object[] => [
  { type: 'content_block_start', index, content_block },
  ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
  { type: 'content_block_stop', index },
];
const parts = (...all: object[]): object => ({ candidates: [{ content: { parts: all } }] });
const candidate = (...all: object[]): object => ({ candidates: [{ content: { parts: all }, finishReason: 'STOP' }] });

describe('a tool call without a name', () => {
  const openai = (call: JsonObject): Both => ({
    events: event(chunk({ tool_calls: [{ index: 0, ...call }] })),
    whole: completion({ content: 'text', tool_calls: [call] }),
  });
  const responses = (type: string, member: string): Both => {
    const call = { type, call_id: 'a', [member]: '{"a":1}' };
    return { events: events(item('added', 0, call), item('done', 0, call)), whole: response(call) };
  };
  const tool = { type: 'tool_use', id: 'a', input: { a: 1 } };
  const gemini = (functionCall: object): Both => ({
    events: event(parts({ functionCall })),
    whole: candidate({ text: 'text' }, { functionCall }),
  });

  it.each<[FamilyName, string, Both]>([
    ['openai', 'with arguments', openai({ id: 'a', function: { arguments: '{"a":1}' } })],
    ['openai', 'with an id alone', openai({ id: 'a', function: { arguments: '' } })],
    ['openai', 'with an empty name', openai({ id: 'a', function: { name: '', arguments: '{}' } })],
    ['responses', 'of a function', responses('function_call', 'arguments')],
    ['responses', 'of a custom tool', responses('custom_tool_call', 'input')],
    [
      'responses',
      'in an item that only ends',
      {
        events: event(item('done', 0, { type: 'function_call', call_id: 'a', arguments: '{}' })),
        whole: response({ type: 'function_call', call_id: 'a', arguments: '{}' }),
      },
    ],
    ['anthropic', 'with arguments', { events: events(...block(1, tool)), whole: message(tool) }],
    ['gemini', 'with arguments', gemini({ args: { a: 1 } })],
    ['gemini', 'with an empty name', gemini({ name: '', args: {} })],
    ['gemini', 'and without anything else', gemini({})],
  ])('makes the answer unusable, streamed and whole: %s, %s', async (family, _what, both) => {
    const text = familyWires[family].open(1) + familyWires[family].text('text');
    const expected = { kind: 'transient', errorClass: 'unreadable' };
    expect(await answers.streamed(family, (to) => to.end(text + both.events + done(family)))).toMatchObject(expected);
    expect(await answers.whole(family, both.whole)).toMatchObject(expected);
  });

  it('makes a streamed answer unusable that ends without a reason', async () => {
    const nameless = chunk({ tool_calls: [{ index: 0, id: 'a', function: { arguments: '{}' } }] });
    const send = `${familyWires.openai.text('half')}${event(nameless)}data: [DONE]\n\n`;
    expect(await answers.streamed('openai', (to) => to.end(send))).toMatchObject({ kind: 'transient' });
  });

  it('is none if it has an id alone, without a number, after a call', async () => {
    const call = { id: 'a', function: { name: 'look', arguments: '{"a":1}' } };
    const empty = (id: string) => chunk({ tool_calls: [{ id, function: { arguments: '' } }] });
    const send = events(chunk({ tool_calls: [call] }), empty('b'), empty('c')) + done('openai');
    expect(await answers.streamed('openai', (to) => to.end(send))).toMatchObject({
      kind: 'ok',
      value: { toolCalls: [{ id: 'a', name: 'look', arguments: '{"a":1}' }] },
    });
  });

  it('is none if it has nothing at all', async () => {
    const send = familyWires.openai.text('all') + event(chunk({ tool_calls: [{ index: 0, function: {} }] }));
    expect(await answers.streamed('openai', (to) => to.end(send + done('openai')))).toMatchObject({
      kind: 'ok',
      value: { content: 'all', finishReason: 'stop', toolCalls: [] },
    });
  });
});

describe('the arguments of a tool call', () => {
  const openai = (args: object): Both => {
    const call = { id: 'a', function: { name: 'look', ...args } };
    return { events: event(chunk({ tool_calls: [{ index: 0, ...call }] })), whole: completion({ tool_calls: [call] }) };
  };
  const responses = (args: string): Both => {
    const call = { type: 'function_call', call_id: 'a', name: 'look', arguments: args };
    const begun = { ...call, arguments: '' };
    return { events: events(item('added', 0, begun), item('done', 0, call)), whole: response(call) };
  };
  const responsesAtEnd = (call: object): Both => ({ events: events(item('done', 0, call)), whole: response(call) });
  const anthropic = (input: unknown, ...deltas: object[]): Both => {
    const tool = { type: 'tool_use', id: 'a', name: 'look', input };
    return { events: events(...block(1, tool, ...deltas)), whole: message(tool) };
  };
  const gemini = (args: object, beside: object = {}): Both => ({
    events: event(parts({ functionCall: { name: 'look', ...args }, ...beside })),
    whole: candidate({ functionCall: { name: 'look', ...args }, ...beside }),
  });

  it.each<[FamilyName, string, Both, string]>([
    ['openai', 'none', openai({}), '{}'],
    ['openai', 'null', openai({ arguments: null }), '{}'],
    ['openai', 'an empty text', openai({ arguments: '' }), '{}'],
    ['openai', 'an object', openai({ arguments: { a: 1 } }), '{"a":1}'],
    ['responses', 'an empty text', responses(''), '{}'],
    ['responses', 'whole at the end alone', responses('{"a":1}'), '{"a":1}'],
    ['anthropic', 'none', anthropic({}), '{}'],
    ['anthropic', 'an empty piece', anthropic({}, { type: 'input_json_delta', partial_json: '' }), '{}'],
    [
      'responses',
      'in an item that only ends',
      responsesAtEnd({ type: 'function_call', call_id: 'a', name: 'look', arguments: '{"a":1}' }),
      '{"a":1}',
    ],
    [
      'responses',
      'of a custom tool in an item that only ends',
      responsesAtEnd({ type: 'custom_tool_call', call_id: 'a', name: 'look', input: 'x' }),
      '{"input":"x"}',
    ],
    ['anthropic', 'whole at the beginning alone', anthropic({ a: 1 }), '{"a":1}'],
    ['anthropic', 'an empty text', anthropic(''), '{}'],
    ['gemini', 'none', gemini({}), '{}'],
    ['gemini', 'null', gemini({ args: null }), '{}'],
    ['gemini', 'an object', gemini({ args: { a: 1 } }), '{"a":1}'],
    ['gemini', 'beside a text of null', gemini({ args: { a: 1 } }, { text: null }), '{"a":1}'],
  ])('are the same JSON, streamed and whole: %s, %s', async (family, _what, both, text) => {
    const pieces = await answers.pieces(family, familyWires[family].open(1) + both.events + done(family));
    const written = pieces.map((piece) => (piece.kind === 'tool_call' ? piece.arguments : ''));
    expect(written.join('')).toBe(text);
    expect(pieces.at(-1)?.kind === 'finish' || pieces.at(-2)?.kind === 'finish').toBe(true);
    expect(await answers.whole(family, both.whole)).toMatchObject({
      kind: 'ok',
      value: { finishReason: 'tool_calls', toolCalls: [{ name: 'look', arguments: text }] },
    });
  });

  it.each(['', 'none', null, 7])('come in pieces after %j in the place of an object: anthropic', async (input) => {
    const tool = { type: 'tool_use', id: 'a', name: 'look', input };
    const send = events(...block(1, tool, { type: 'input_json_delta', partial_json: '{"a":1}' })) + done('anthropic');
    const outcome = await answers.streamed('anthropic', (to) => to.end(familyWires.anthropic.open(1) + send));
    expect(outcome).toMatchObject({ kind: 'ok', value: { toolCalls: [{ name: 'look', arguments: '{"a":1}' }] } });
  });

  it('make the answer unusable if they are no object and no pieces follow: anthropic', async () => {
    const tool = { type: 'tool_use', id: 'a', name: 'look', input: 'none' };
    const send = familyWires.anthropic.open(1) + events(...block(1, tool)) + done('anthropic');
    const expected = { kind: 'transient', errorClass: 'unreadable' };
    expect(await answers.streamed('anthropic', (to) => to.end(send))).toMatchObject(expected);
    expect(await answers.whole('anthropic', message(tool))).toMatchObject(expected);
  });

  it('are written once if a server says twice how the answer ends', async () => {
    const call = chunk({ tool_calls: [{ index: 0, id: 'a', function: { name: 'look' } }] });
    const stop = { choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] };
    const pieces = await answers.pieces('openai', `${events(call, stop, stop)}data: [DONE]\n\n`);
    expect(pieces.flatMap((piece) => (piece.kind === 'tool_call' ? [piece.arguments] : [])).join('')).toBe('{}');
  });

  it.each(['openai', 'anthropic', 'responses'] as const)(
    'stay empty if the answer was cut before them: %s',
    async (family) => {
      const wire = familyWires[family];
      const pieces = await answers.pieces(family, wire.open(1) + wire.call(0, '', true) + wire.end('length', usage));
      expect(pieces.flatMap((piece) => (piece.kind === 'tool_call' ? [piece.arguments] : [])).join('')).toBe('');
    },
  );
});

describe('the thoughts of an answer', () => {
  const reasoning = (id: string, texts: string[], more: object = {}): object => ({
    type: 'reasoning',
    id,
    summary: texts.map((text) => ({ type: 'summary_text', text })),
    ...more,
  });
  const summed = (index: number, texts: string[], more: object = {}): object[] => [
    item('added', index, reasoning(`rs_${index}`, [])),
    ...texts.flatMap((text, part) =>
      [...text].map((delta) => ({
        type: 'response.reasoning_summary_text.delta',
        output_index: index,
        summary_index: part,
        delta,
      })),
    ),
    item('done', index, reasoning(`rs_${index}`, texts, more)),
  ];
  const spoken = { type: 'message', content: [{ type: 'output_text', text: 'all' }] };
  const saying = { type: 'response.output_text.delta', output_index: 9, content_index: 0, delta: 'all' };
  const shown = { type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text: 'Red fur.' }] };
  const showing = { type: 'response.reasoning_text.delta', output_index: 0, content_index: 0, delta: 'Red fur.' };
  const sealed = { encrypted_content: 'sealed' };
  const thinking = (index: number, text: string, signature?: string): object[] =>
    block(
      index,
      { type: 'thinking', thinking: '', signature: '' },
      { type: 'thinking_delta', thinking: text },
      ...(signature === undefined ? [] : [{ type: 'signature_delta', signature }]),
    );
  const text = { type: 'text', text: 'all' };
  const thought = (words: string, signature?: string): object => ({ type: 'thinking', thinking: words, signature });

  it.each<[FamilyName, string, Both]>([
    [
      'responses',
      'two parts of a summary',
      {
        events: events(...summed(0, ['Red fur.', 'Pointed ears.']), saying),
        whole: response(reasoning('rs_0', ['Red fur.', 'Pointed ears.']), spoken),
      },
    ],
    [
      'responses',
      'two items',
      {
        events: events(...summed(0, ['Red fur.']), ...summed(1, ['Pointed ears.']), saying),
        whole: response(reasoning('rs_0', ['Red fur.']), reasoning('rs_1', ['Pointed ears.']), spoken),
      },
    ],
    [
      'responses',
      'two signed items',
      {
        events: events(...summed(0, ['Red fur.'], sealed), ...summed(1, ['Pointed ears.'], sealed), saying),
        whole: response(reasoning('rs_0', ['Red fur.'], sealed), reasoning('rs_1', ['Pointed ears.'], sealed), spoken),
      },
    ],
    [
      'responses',
      'thoughts themselves before a summary',
      {
        events: events(showing, ...summed(1, ['Pointed ears.']), saying),
        whole: response(shown, reasoning('rs_1', ['Pointed ears.']), spoken),
      },
    ],
    [
      'anthropic',
      'two signed blocks',
      {
        events: events(...thinking(0, 'Red fur.', 'a'), ...thinking(1, 'Pointed ears.', 'b'), ...block(2, text)),
        whole: message(thought('Red fur.', 'a'), thought('Pointed ears.', 'b'), text),
      },
    ],
    [
      'anthropic',
      'two blocks without signatures',
      {
        events: events(...thinking(0, 'Red fur.'), ...thinking(1, 'Pointed ears.'), ...block(2, text)),
        whole: message(thought('Red fur.'), thought('Pointed ears.'), text),
      },
    ],
  ])('are parted by a blank line, streamed and whole: %s, %s', async (family, _what, both) => {
    const streamed = await answers.streamed(family, (to) =>
      to.end(familyWires[family].open(1) + both.events + done(family)),
    );
    const whole = await answers.whole(family, both.whole);
    for (const outcome of [streamed, whole])
      expect(outcome).toMatchObject({ kind: 'ok', value: { content: 'all', reasoning: 'Red fur.\n\nPointed ears.' } });
    const thoughts = whole.kind === 'ok' ? whole.value.thoughts : undefined;
    expect(streamed.kind === 'ok' ? streamed.value.thoughts : undefined).toEqual(thoughts);
  });
});

describe('counts that a later event does not repeat', () => {
  const stop = { index: 0, delta: {}, finish_reason: 'stop' };
  const details = { prompt_tokens_details: { cached_tokens: 40, cache_write_tokens: 3 } };
  const reported = { promptTokenCount: 100, cachedContentTokenCount: 40, thoughtsTokenCount: 7 };
  const spoken = { content: { parts: [{ text: 'all' }] } };
  const input = {
    input_tokens: 57,
    cache_read_input_tokens: 40,
    cache_creation_input_tokens: 3,
    cache_creation: { ephemeral_1h_input_tokens: 2, ephemeral_5m_input_tokens: 1 },
  };
  const start = {
    type: 'message_start',
    message: { type: 'message', content: [], usage: { ...input, output_tokens: 1 } },
  };
  const anthropicEnd = (later: JsonObject): object[] => [
    ...block(0, { type: 'text', text: 'all' }),
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: later },
    { type: 'message_stop' },
  ];
  const nulls = Object.fromEntries(Object.keys(input).map((name) => [name, null]));
  const zeros = { input_tokens: 0, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 };
  const ofAnthropic = { cachedTokens: 40, cacheWriteTokens: 3, cacheWrite1hTokens: 2 };

  it.each<[FamilyName, string, string, object]>([
    ['anthropic', 'are null', events(start, ...anthropicEnd({ ...nulls, output_tokens: 20 })), ofAnthropic],
    [
      'anthropic',
      'are null inside',
      events(start, ...anthropicEnd({ cache_creation: { ephemeral_1h_input_tokens: null }, output_tokens: 20 })),
      ofAnthropic,
    ],
    ['anthropic', 'are absent', events(start, ...anthropicEnd({ output_tokens: 20 })), ofAnthropic],
    ['anthropic', 'are zero', events(start, ...anthropicEnd({ ...zeros, output_tokens: 20 })), ofAnthropic],
    [
      'anthropic',
      'are partly zero',
      events(start, ...anthropicEnd({ input_tokens: 0, output_tokens: 20 })),
      ofAnthropic,
    ],
    [
      'openai',
      'are absent',
      events(
        { ...chunk({ content: 'all' }), usage: { prompt_tokens: 100, completion_tokens: 1, ...details } },
        { choices: [stop], usage: { prompt_tokens: 100, completion_tokens: 20 } },
      ),
      { cachedTokens: 40, cacheWriteTokens: 3 },
    ],
    [
      'openai',
      'are null',
      events(
        { ...chunk({ content: 'all' }), usage: { prompt_tokens: 100, completion_tokens: 1, ...details } },
        { choices: [stop], usage: { prompt_tokens: null, completion_tokens: 20, prompt_tokens_details: null } },
      ),
      { cachedTokens: 40, cacheWriteTokens: 3 },
    ],
    [
      'gemini',
      'are absent',
      events(
        { candidates: [spoken], usageMetadata: reported },
        { candidates: [{ finishReason: 'STOP' }], usageMetadata: { promptTokenCount: 100, candidatesTokenCount: 13 } },
      ),
      { cachedTokens: 40, reasoningTokens: 7 },
    ],
    [
      'gemini',
      'are null',
      events(
        { candidates: [spoken], usageMetadata: reported },
        {
          candidates: [{ finishReason: 'STOP' }],
          usageMetadata: {
            promptTokenCount: null,
            candidatesTokenCount: 13,
            cachedContentTokenCount: null,
            thoughtsTokenCount: null,
          },
        },
      ),
      { cachedTokens: 40, reasoningTokens: 7 },
    ],
  ])('stay as they were reported: %s, %s', async (family, _what, stream, expected) => {
    expect(
      await answers.streamed(family, (to) => to.end(stream + (family === 'openai' ? 'data: [DONE]\n\n' : ''))),
    ).toMatchObject({
      kind: 'ok',
      value: { content: 'all', usage: { inputTokens: 100, outputTokens: 20, ...expected } },
    });
  });
});

describe('the count of an answer that went on after it', () => {
  const counted = (text: string, usageMetadata: object, more: object = {}): object => ({
    candidates: [{ content: { parts: [{ text }] }, ...more }],
    usageMetadata,
  });
  const stop = { finishReason: 'STOP' };

  it('is not that of the whole answer: gemini', async () => {
    const first = counted('abc', { promptTokenCount: 10, candidatesTokenCount: 3 });
    const last = counted('long rest', { promptTokenCount: 10, totalTokenCount: 400 }, stop);
    expect(await answers.streamed('gemini', (to) => to.end(events(first, last)))).toMatchObject({
      kind: 'ok',
      value: { content: 'abclong rest', usage: { inputTokens: 10 }, hasInterimCounts: true },
    });
  });

  it('holds if only the reason follows: gemini', async () => {
    const first = counted('abc', { promptTokenCount: 10, candidatesTokenCount: 3 });
    const last = { candidates: [stop], usageMetadata: { promptTokenCount: 10 } };
    const outcome = await answers.streamed('gemini', (to) => to.end(events(first, last)));
    expect(outcome).toMatchObject({ kind: 'ok', value: { usage: { inputTokens: 10, outputTokens: 3 } } });
    expect(outcome).not.toHaveProperty('value.hasInterimCounts');
  });
});

describe('an answer in an odd form', () => {
  it('goes on after a part of Gemini that is no list', async () => {
    const odd = { candidates: [{ content: { parts: { text: 'lost' } } }] };
    const send = event(odd) + familyWires.gemini.text('all') + done('gemini');
    const outcome = await answers.streamed('gemini', (to) => to.end(send));
    expect(outcome).toMatchObject({ kind: 'ok', value: { content: 'all' } });
  });

  it.each<[string, FamilyName, object, object]>([
    ['a text of null', 'gemini', candidate({ text: null }, { text: 'all' }), { content: 'all' }],
    ['a refusal alone', 'openai', chosen({ content: null, refusal: 'No.' }), { refusal: 'No.' }],
    ['thoughts alone', 'openai', chosen({ content: null, reasoning: 'Red fur.' }), { reasoning: 'Red fur.' }],
  ])('is taken as a whole: %s, %s', async (_what, family, body, value) => {
    expect(await answers.whole(family, body)).toMatchObject({ kind: 'ok', value });
  });
  function chosen(message: object): object {
    return { choices: [{ message, finish_reason: null }] };
  }
});

describe.each(families)('an error event of %s', (family) => {
  const wire = familyWires[family];

  it.each<[string, object]>([
    ['a text', { error: 'It failed.' }],
    ['an object without a message', { error: { code: 'broken' } }],
    ['a type alone', { type: 'error' }],
    ['a type and a code', { type: 'error', code: 'server_error' }],
  ])('in an unknown form ends the answer as broken: %s', async (_what, error) => {
    const send = wire.open(1) + wire.text('half') + event(error) + wire.text('more') + done(family);
    const outcome = await answers.streamed(family, (to) => to.end(send));
    expect(outcome).toMatchObject({ kind: 'transient', errorClass: 'provider_error' });
  });

  it.each<[string, object]>([
    ['null', { error: null }],
    ['empty', { error: {} }],
    ['false', { error: false }],
    ['none', { error: 'none' }],
    ['a text of false', { error: 'false' }],
    ['N/A', { error: 'N/A' }],
  ])('is none if its error is %s', async (_what, error) => {
    const first = JSON.parse(wire.text('all').split('data: ')[1] ?? '') as object;
    const send = wire.open(1) + event({ ...first, ...error }) + done(family);
    expect(await answers.streamed(family, (to) => to.end(send))).toMatchObject({
      kind: 'ok',
      value: { content: 'all' },
    });
  });
});
