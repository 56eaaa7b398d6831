import { describe, expect, it } from '@jest/globals';
import { setImmediate as turn } from 'node:timers/promises';
import { createMemoryBudget, type MemoryBudget } from '../../src/platform/memory-budget.ts';

const never = new AbortController().signal;

/** Requests bytes and logs `name` when they are granted. */
function take(
  budget: MemoryBudget,
  name: string,
  bytes: number,
  { owner = name, signal = never, log = [] as string[] } = {},
) {
  const granted = budget.take(bytes, { owner, signal }).then((release) => {
    log.push(release ? name : `${name} aborted`);
    return release;
  });
  return { granted, release: async () => (await granted)?.() };
}

describe('a memory budget', () => {
  it('grants a request that fits, and the next one after a release', async () => {
    const budget = createMemoryBudget(10);
    const log: string[] = [];
    const [first, second] = [take(budget, 'first', 6, { log }), take(budget, 'second', 6, { log })];
    await turn();
    expect(log).toEqual(['first']);
    await first.release();
    await second.granted;
    expect(log).toEqual(['first', 'second']);
  });

  it('does not let small requests overtake a large one forever', async () => {
    const budget = createMemoryBudget(10);
    const log: string[] = [];
    const first = take(budget, 'first', 2, { log });
    const large = take(budget, 'large', 10, { log });
    const small = take(budget, 'small', 1, { log });
    await first.release();
    await large.granted;
    expect(log).toEqual(['first', 'large']);
    await large.release();
    await small.granted;
  });

  it('serves owners in turns, so that one with many requests delays only itself', async () => {
    const budget = createMemoryBudget(1);
    const log: string[] = [];
    const requests = [
      ...['a1', 'a2', 'a3'].map((name) => take(budget, name, 1, { owner: 'a', log })),
      take(budget, 'b1', 1, { owner: 'b', log }),
    ];
    for (const { release } of [requests[0], requests[1], requests[3], requests[2]].filter((one) => one !== undefined)) {
      await release();
    }
    expect(log).toEqual(['a1', 'a2', 'b1', 'a3']);
  });

  it('removes an aborted request and grants the next one', async () => {
    const budget = createMemoryBudget(10);
    const log: string[] = [];
    const first = take(budget, 'first', 5, { log });
    const gone = new AbortController();
    take(budget, 'large', 10, { log, signal: gone.signal });
    const small = take(budget, 'small', 5, { log });
    await turn();
    expect(log).toEqual(['first']);
    gone.abort();
    await small.granted;
    expect(log.sort()).toEqual(['first', 'large aborted', 'small']);
    await first.release();
    expect(await take(budget, 'late', 1, { signal: gone.signal }).granted).toBeNull();
  });

  it('counts a repeated release once', async () => {
    const budget = createMemoryBudget(2);
    const first = take(budget, 'first', 1);
    take(budget, 'second', 1);
    await first.release();
    await first.release();
    const log: string[] = [];
    take(budget, 'third', 1, { log });
    take(budget, 'fourth', 1, { log });
    await turn();
    expect(log).toEqual(['third']);
  });
});
