import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { BoundedMap } from '../../src/platform/bounded-map.ts';

describe('a bounded map', () => {
  it('never weighs more than its limit, and keeps the newest values', () => {
    const values = fc.array(
      fc.record({ key: fc.constantFrom(...'abcdefgh'), weight: fc.integer({ min: 1, max: 12 }) }),
    );
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 64 }), values, (max, all) => {
        const map = new BoundedMap<number>(max, (weight) => weight);
        // What was set and not replaced, the oldest first.
        const wanted = new Map<string, number>();
        for (const { key, weight } of all) {
          wanted.delete(key);
          wanted.set(key, weight);
          map.set(key, weight);
          const kept = [...map];
          const sum = kept.reduce((total, [, one]) => total + one, 0);
          expect(sum).toBeLessThanOrEqual(max);
          expect(kept).toEqual([...wanted].slice(wanted.size - kept.length));
          if (weight <= max) expect(map.get(key)).toBe(weight);
        }
      }),
    );
  });

  it('counts what was deleted and cleared as free', () => {
    const map = new BoundedMap<number>(2);
    map.set('a', 1).set('b', 1).delete('a');
    expect([...map.set('c', 1).keys()]).toEqual(['b', 'c']);
    map.clear();
    expect([...map.set('d', 1).set('e', 1).keys()]).toEqual(['d', 'e']);
  });
});
