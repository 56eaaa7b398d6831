import { describe, expect, test } from '@jest/globals';
import { allActions } from '../../../src/admin/table.ts';

const wrongValues: readonly unknown[] = [
  'no such word',
  '',
  0,
  -1.5,
  true,
  null,
  [],
  [5],
  ['no such word'],
  {},
  { a: 1 },
];

describe('what an action says about an input that it refuses', () => {
  test.each(allActions())(
    '$name: continues the sentence that begins with the name',
    ({ action: { input, prepare } }) => {
      const messages = Object.keys(input).flatMap((field) =>
        wrongValues.flatMap((wrong) => {
          const prepared = prepare({ [field]: wrong });
          const issues = prepared.ok ? [] : prepared.issues;
          return issues.filter(({ path }) => path[0] === field).map(({ message }) => `${field} ${message}`);
        }),
      );
      // zod's own words begin with a capital letter, and a refusal ends a sentence of the caller.
      expect(messages.filter((message) => !/^\w+ (must|has|is) [^]*[^.]$/.test(message))).toEqual([]);
    },
  );

  test('names the words that a choice takes', () => {
    const messagesOf = (words: string, input: Record<string, unknown>) => {
      const prepared = allActions()
        .find(({ name }) => name === words)
        ?.action.prepare(input);
      return prepared === undefined || prepared.ok ? [] : prepared.issues.map(({ message }) => message);
    };
    expect(messagesOf('tasks list', { status: 'done' })).toEqual([
      'must be one of queued, processing, succeeded, failed, canceled',
    ]);
    expect(messagesOf('projects set', { id: 'prj_a', traceContent: 'all' })).toEqual(['must be one of redacted, full']);
    expect(messagesOf('ledger verify', { full: 'yes' })).toEqual(['must be one of true, false']);
    expect(messagesOf('keys create', { project: 'prj_a', metadata: { a: 1 } })).toEqual([
      'is refused: metadata.a must be a string, not 1',
    ]);
  });
});
