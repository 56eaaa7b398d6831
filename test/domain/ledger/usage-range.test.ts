import { describe, expect, it } from '@jest/globals';
import { spendRange } from '../../../src/domain/ledger/usage-range.ts';
import type { SpendGroup } from '../../../src/domain/ledger/usage-group.ts';

const now = Date.UTC(2030, 0, 31, 12, 10);
const daySeconds = 86_400;
const rangeOf = (days: number | undefined, groups: readonly SpendGroup[], timeZone = 'UTC') =>
  spendRange({ from: days === undefined ? undefined : now / 1_000 - days * daySeconds }, { groups, timeZone }, now);

describe('the range of usage for operators', () => {
  it('is the last 30 days from a half hour on, unless it is asked for', () => {
    expect(rangeOf(undefined, ['day'])).toEqual({ from: Date.UTC(2030, 0, 1, 12, 30) / 1_000, to: now / 1_000 + 1 });
    expect(rangeOf(2, ['day']).from).toBe(now / 1_000 - 2 * daySeconds);
  });

  it.each<[string, number, SpendGroup[], string]>([
    ['a year by the day', 365, ['day', 'project'], 'UTC'],
    ['a year of another zone without days', 365, ['project'], 'Asia/Kolkata'],
    ['92 days of another zone', 91, ['day'], 'Asia/Kolkata'],
    ['a week by the hour', 6, ['hour'], 'UTC'],
  ])('may be %s, and no longer', (_what, days, groups, timeZone) => {
    expect(() => rangeOf(days, groups, timeZone)).not.toThrow();
    expect(() => rangeOf(days + 2, groups, timeZone)).toThrow(/longer than \d+ days/);
  });

  // A client wrote unix seconds and an operator a date, so that neither is shown what it did not write.
  it('tells a range that ends before it begins in words, without its times', () => {
    expect(() => rangeOf(-2, ['day'])).toThrow(/^from: the range must begin before it ends\.[^\d]*$/);
  });
});
