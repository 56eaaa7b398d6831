import type { ChatDelta } from '../../../src/domain/chat/chat-stream.ts';

const call = (index: number, text: string, isFirst = false) => ({
  kind: 'tool_call' as const,
  index,
  ...(isFirst && { id: `call_${index}`, name: `tool_${index}` }),
  arguments: text,
});
const text = (words: string) => ({ kind: 'text' as const, text: words });

/** The calls of each of `mixedCalls`. */
export const twoCalls = [
  { id: 'call_0', name: 'tool_0', arguments: '{"a":1}' },
  { id: 'call_1', name: 'tool_1', arguments: '{"b":2}' },
];

/** The pieces of two calls, as providers may send them. */
export const mixedCalls: [how: string, deltas: ChatDelta[]][] = [
  ['come one after another', [call(0, '{"a":', true), call(0, '1}'), call(1, '{"b":', true), call(1, '2}')]],
  ['alternate', [call(0, '{"a"', true), call(1, '{"b"', true), call(0, ':1}'), call(1, ':2}')]],
  ['begin together', [call(0, '', true), call(1, '', true), call(1, '{"b":2}'), call(0, '{"a":1}')]],
  ['have text between them', [call(0, '{"a"', true), text('Let me see.'), call(1, '{"b":2}', true), call(0, ':1}')]],
  ['have text after them', [call(0, '{"a":1}', true), call(1, '{"b":2}', true), text('Let me see.')]],
];
