import { describe, expect, it } from '@jest/globals';
import { differences } from '../../../src/domain/operators/differences.ts';

describe('the differences of two objects', () => {
  it('are the members that were added, removed or changed, by their paths', () => {
    const before = { id: 'a', pricing: { unit: 'request', credits: 5 }, old: 1, groups: ['x', 'y'] };
    const after = { groups: ['x', 'z'], pricing: { credits: 6, unit: 'request' }, id: 'a', fresh: null };
    expect(differences(before, after)).toEqual([
      { path: 'fresh', before: undefined, after: null },
      { path: 'groups', before: ['x', 'y'], after: ['x', 'z'] },
      { path: 'old', before: 1, after: undefined },
      { path: 'pricing.credits', before: 5, after: 6 },
    ]);
  });

  it('are none for the same members in another order', () => {
    expect(differences({ a: { b: 1, c: [{ d: 1, e: 2 }] } }, { a: { c: [{ e: 2, d: 1 }], b: 1 } })).toEqual([]);
  });
});
