import { describe, expect, it } from '@jest/globals';
import { durationAt, durationClass } from '../../../src/domain/tasks/duration-classes.ts';

const counted = (durations: readonly number[]): number[] => {
  const counts = Array.from({ length: 192 }, () => 0);
  for (const ms of durations) counts[durationClass(ms)] = (counts[durationClass(ms)] ?? 0) + 1;
  return counts;
};

describe('a percentile of durations that were counted in classes', () => {
  it.each([1.5, 7, 40, 333, 1_000, 12_345, 600_000, 3_600_000])('of %d ms is right to 5 %%', (ms) => {
    const read = durationAt(counted([ms]), 0.5) ?? 0;
    expect(Math.abs(read / ms - 1)).toBeLessThan(0.05);
  });

  it('is the duration below which that share of them was', () => {
    const counts = counted([...Array.from({ length: 95 }, () => 100), ...Array.from({ length: 5 }, () => 4_000)]);
    expect(Math.round((durationAt(counts, 0.5) ?? 0) / 10)).toBe(10);
    expect(Math.round((durationAt(counts, 0.95) ?? 0) / 10)).toBe(10);
    expect(Math.round((durationAt(counts, 0.96) ?? 0) / 1_000)).toBe(4);
  });

  it('is null if none was counted, and has a class for everything', () => {
    expect(durationAt([], 0.5)).toBeNull();
    expect(durationAt([0, 0], 0.5)).toBeNull();
    expect([0, -1, 0.5, 1].map(durationClass)).toEqual([0, 0, 0, 0]);
    expect(durationClass(Number.MAX_SAFE_INTEGER)).toBe(191);
  });
});
