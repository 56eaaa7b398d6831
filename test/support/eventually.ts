import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Calls `ask` until it returns something else than null, undefined or false, and returns that. Throws after `secondsMax` (60 by
 * default), but only after one more call, because a call may take long and this process may have been delayed.
 */
export async function eventually<T>(
  ask: () => Promise<T | null | undefined | false>,
  { secondsMax = 60, what = 'what the test waits for' } = {},
): Promise<T> {
  const begunAt = Date.now();
  for (;;) {
    const elapsedMs = Date.now() - begunAt;
    const isLast = elapsedMs > secondsMax * 1_000;
    const answer = await ask();
    if (answer !== null && answer !== undefined && answer !== false) return answer;
    if (isLast) throw new Error(`Waited ${secondsMax} s in vain for ${what}`);
    await sleep(Math.min(50 + elapsedMs / 20, 200));
  }
}
