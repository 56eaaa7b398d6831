import { describe, expect, it } from '@jest/globals';
import { readTaskOptions } from '../../../src/domain/tasks/task-options.ts';

const names = (count: number): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`key-${n}`, 'x']));

describe('the options of a create request', () => {
  it('are no metadata, the deadline of the type, any price and no dry run, when they are absent or null', () => {
    const absent = { metadata: null, deadlineSeconds: 600, maxCredits: null, isDryRun: false };
    expect(readTaskOptions({}, 600)).toEqual(absent);
    expect(readTaskOptions({ metadata: null, deadline_seconds: null, max_credits: null, dry_run: null }, 600)).toEqual(
      absent,
    );
    expect(readTaskOptions({ metadata: {} }, 600).metadata).toBeNull();
  });

  it.each([
    [{ metadata: names(16) }, 'metadata'],
    [{ metadata: { ['k'.repeat(40)]: '🦊'.repeat(500), empty: '' } }, 'metadata'],
    [{ deadline_seconds: 30 }, 'deadlineSeconds'],
    [{ deadline_seconds: 600 }, 'deadlineSeconds'],
    [{ max_credits: 1 }, 'maxCredits'],
    [{ max_credits: Number.MAX_SAFE_INTEGER }, 'maxCredits'],
    [{ dry_run: true }, 'isDryRun'],
  ])('are read as they were sent: %j', (body, option) => {
    expect(Object.entries(readTaskOptions(body, 600)).find(([name]) => name === option)?.[1]).toEqual(
      Object.values(body)[0],
    );
  });

  it.each([
    [{ metadata: 'x' }, 'metadata', 'metadata must be an object of strings, not x.'],
    [{ metadata: [] }, 'metadata', 'metadata must be an object of strings, not [].'],
    [{ metadata: names(17) }, 'metadata', 'metadata must have at most 16 keys, not 17.'],
    [{ metadata: { order: 7 } }, 'metadata.order', 'metadata.order must be a string, not 7.'],
    [{ metadata: { '': 'x' } }, 'metadata.', 'metadata.: a key of metadata must have 1 to 40 characters.'],
    [{ metadata: { a: 'v'.repeat(501) } }, 'metadata.a', 'metadata.a must have at most 500 characters.'],
    [{ deadline_seconds: 29 }, 'deadline_seconds', 'deadline_seconds must be a whole number from 30 to 600, not 29.'],
    [{ deadline_seconds: 601 }, 'deadline_seconds', 'deadline_seconds must be a whole number from 30 to 600, not 601.'],
    [
      { deadline_seconds: 60.5 },
      'deadline_seconds',
      'deadline_seconds must be a whole number from 30 to 600, not 60.5.',
    ],
    [{ deadline_seconds: '60' }, 'deadline_seconds', 'deadline_seconds must be a whole number from 30 to 600, not 60.'],
    [{ max_credits: 0 }, 'max_credits', 'max_credits must be a whole number from 1 to 9007199254740991, not 0.'],
    [{ max_credits: 1.5 }, 'max_credits', 'max_credits must be a whole number from 1 to 9007199254740991, not 1.5.'],
    [
      { max_credits: 2 ** 53 },
      'max_credits',
      'max_credits must be a whole number from 1 to 9007199254740991, not 9007199254740992.',
    ],
    [{ dry_run: 'yes' }, 'dry_run', 'dry_run must be true or false, not yes.'],
  ])('are refused with the field, the value and what is accepted: %j', (body, param, message) => {
    expect(() => readTaskOptions(body, 600)).toThrow(
      expect.objectContaining({ code: 'invalid_value', param, message }),
    );
  });
});
