import { setTimeout as sleep } from 'node:timers/promises';

/** Asks until the answer is neither null nor undefined nor false, and answers it. Rejects after `secondsMax` (15 when absent). */
export async function eventually<T>(
  ask: () => Promise<T | null | undefined | false>,
  { secondsMax = 15, what = 'what the test waits for' } = {},
): Promise<T> {
  const giveUpAt = Date.now() + secondsMax * 1_000;
  for (;;) {
    const answer = await ask();
    if (answer !== null && answer !== undefined && answer !== false) return answer;
    if (Date.now() > giveUpAt) throw new Error(`${what} did not come within ${secondsMax} s`);
    await sleep(50);
  }
}
