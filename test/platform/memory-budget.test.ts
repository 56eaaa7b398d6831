import { describe, expect, it } from '@jest/globals';
import { setImmediate as turn } from 'node:timers/promises';
import { createMemoryBudget, type MemoryBudget } from '../../src/platform/memory-budget.ts';

const never = new AbortController().signal;

/** Asks, and notes under `name` when there is room. */
function visit(
  room: MemoryBudget,
  name: string,
  bytes: number,
  { owner = name, signal = never, log = [] as string[] } = {},
) {
  const entered = room.take(bytes, { owner, signal }).then((release) => {
    log.push(release ? name : `${name} left`);
    return release;
  });
  return { entered, leave: async () => (await entered)?.() };
}

describe('a room for bytes', () => {
  it('lets in what fits, and the next one when somebody has left', async () => {
    const room = createMemoryBudget(10);
    const log: string[] = [];
    const [first, second] = [visit(room, 'first', 6, { log }), visit(room, 'second', 6, { log })];
    await turn();
    expect(log).toEqual(['first']);
    await first.leave();
    await second.entered;
    expect(log).toEqual(['first', 'second']);
  });

  it('keeps a large one from being overtaken by small ones for ever', async () => {
    const room = createMemoryBudget(10);
    const log: string[] = [];
    const first = visit(room, 'first', 2, { log });
    const large = visit(room, 'large', 10, { log });
    const small = visit(room, 'small', 1, { log });
    await first.leave();
    await large.entered;
    expect(log).toEqual(['first', 'large']);
    await large.leave();
    await small.entered;
  });

  it('is taken by owners in turns: who asks for much waits behind itself', async () => {
    const room = createMemoryBudget(1);
    const log: string[] = [];
    const visits = [
      ...['a1', 'a2', 'a3'].map((name) => visit(room, name, 1, { owner: 'a', log })),
      visit(room, 'b1', 1, { owner: 'b', log }),
    ];
    for (const { leave } of [visits[0], visits[1], visits[3], visits[2]].filter((one) => one !== undefined)) {
      await leave();
    }
    expect(log).toEqual(['a1', 'a2', 'b1', 'a3']);
  });

  it('is left by who waits no longer, and whoever stood behind comes in', async () => {
    const room = createMemoryBudget(10);
    const log: string[] = [];
    const first = visit(room, 'first', 5, { log });
    const gone = new AbortController();
    visit(room, 'large', 10, { log, signal: gone.signal });
    const small = visit(room, 'small', 5, { log });
    await turn();
    expect(log).toEqual(['first']);
    gone.abort();
    await small.entered;
    expect(log.sort()).toEqual(['first', 'large left', 'small']);
    await first.leave();
    expect(await visit(room, 'late', 1, { signal: gone.signal }).entered).toBeNull();
  });

  it('counts what is given back once', async () => {
    const room = createMemoryBudget(2);
    const first = visit(room, 'first', 1);
    visit(room, 'second', 1);
    await first.leave();
    await first.leave();
    const log: string[] = [];
    visit(room, 'third', 1, { log });
    visit(room, 'fourth', 1, { log });
    await turn();
    expect(log).toEqual(['third']);
  });
});
