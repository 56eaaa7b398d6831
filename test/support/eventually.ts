import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Asks until the answer is neither null nor undefined nor false, and answers it. Rejects after `secondsMax` (30 when absent),
 * but never before it has asked once more after that: an ask may take long, and this process may have been held up.
 */
export async function eventually<T>(
  ask: () => Promise<T | null | undefined | false>,
  { secondsMax = 30, what = 'what the test waits for' } = {},
): Promise<T> {
  const giveUpAt = Date.now() + secondsMax * 1_000;
  for (;;) {
    const isLast = Date.now() > giveUpAt;
    const answer = await ask();
    if (answer !== null && answer !== undefined && answer !== false) return answer;
    if (isLast) throw new Error(`${what} did not come within ${secondsMax} s`);
    await sleep(50);
  }
}
