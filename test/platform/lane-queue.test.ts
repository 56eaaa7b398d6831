import { describe, expect, it } from '@jest/globals';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createLaneQueue } from '../../src/platform/lane-queue.ts';

/** A queue whose items end when the test ends them. */
function heldQueue(limits: { lanes: number; waitingMax: number }) {
  const begun: string[] = [];
  const running = new Map<string, () => void>();
  const queue = createLaneQueue(limits, (item: string) => {
    begun.push(item);
    return new Promise<void>((resolve) => running.set(item, resolve));
  });
  const end = async (item: string): Promise<void> => {
    running.get(item)?.();
    running.delete(item);
    await nextTurn();
  };
  return { queue, begun, end };
}

describe('a lane queue', () => {
  it('handles items in the order in which they were added, as many at once as it has lanes', async () => {
    const { queue, begun, end } = heldQueue({ lanes: 2, waitingMax: 10 });
    for (const item of ['a', 'b', 'c', 'd']) queue.add(item);
    expect(begun).toEqual(['a', 'b']);
    await end('b');
    expect(begun).toEqual(['a', 'b', 'c']);
    await end('a');
    expect(begun).toEqual(['a', 'b', 'c', 'd']);
  });

  it('joins an item that waits already, and handles it again if it was handled before', async () => {
    const { queue, begun, end } = heldQueue({ lanes: 1, waitingMax: 10 });
    for (const item of ['a', 'b', 'b', 'a']) queue.add(item);
    await end('a');
    await end('b');
    await end('a');
    expect(begun).toEqual(['a', 'b', 'a']);
  });

  it('drops an item while too many wait', async () => {
    const { queue, begun, end } = heldQueue({ lanes: 1, waitingMax: 1 });
    for (const item of ['a', 'b', 'c']) queue.add(item);
    await end('a');
    await end('b');
    expect(begun).toEqual(['a', 'b']);
  });

  it('handles an item that is added at the moment when the last one ends', async () => {
    const begun: string[] = [];
    const queue = createLaneQueue({ lanes: 1, waitingMax: 10 }, async (item: string) => {
      begun.push(item);
      await Promise.resolve();
    });
    queue.add('a');
    for (let turns = 0; turns < 10; turns++) {
      await Promise.resolve();
      queue.add(`b${turns}`);
    }
    await queue.idle();
    expect(begun).toHaveLength(11);
  });

  it('becomes idle once the running items end, if the waiting ones are left', async () => {
    const { queue, begun, end } = heldQueue({ lanes: 1, waitingMax: 10 });
    for (const item of ['a', 'b']) queue.add(item);
    queue.leaveWaiting();
    const idle = queue.idle();
    await end('a');
    await idle;
    expect(begun).toEqual(['a']);
  });
});
