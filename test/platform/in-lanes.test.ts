import { describe, expect, it } from '@jest/globals';
import { inLanes } from '../../src/platform/in-lanes.ts';

describe('work in lanes', () => {
  it('runs for every item, at most so many at a time', async () => {
    let running = 0;
    let most = 0;
    const done: number[] = [];
    await inLanes([1, 2, 3, 4, 5], 2, async (item) => {
      most = Math.max(most, ++running);
      await Promise.resolve();
      running -= 1;
      done.push(item);
    });
    expect({ done, most }).toEqual({ done: [1, 2, 3, 4, 5], most: 2 });
  });

  it('leaves an item out only if every lane has ended', async () => {
    const begun: number[] = [];
    await inLanes([1, 2, 3, 4], 2, (item) => {
      begun.push(item);
      return Promise.resolve(item === 2 || item === 3 ? 'end_lane' : undefined);
    });
    expect(begun).toEqual([1, 2, 3]);
  });

  it('takes no item after an error, and rejects with it once the work that runs has ended', async () => {
    const begun: number[] = [];
    const ended: number[] = [];
    let finish = (): void => undefined;
    const slow = new Promise<void>((resolve) => (finish = resolve));
    const all = inLanes([1, 2, 3, 4], 2, async (item) => {
      begun.push(item);
      if (item === 1) throw new Error('the first');
      await slow;
      ended.push(item);
    });
    finish();
    await expect(all).rejects.toThrow('the first');
    expect({ begun, ended }).toEqual({ begun: [1, 2], ended: [2] });
  });
});
