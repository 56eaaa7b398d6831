import { setImmediate as endOfTurn, setTimeout as delay } from 'node:timers/promises';

/** Waits `ms`, or until `signal` fires. Never throws. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted) return;
  await delay(Math.max(0, ms), undefined, signal ? { signal } : {}).catch(() => undefined);
}

/** What `work` resolves to, or undefined after `ms` and a look at what has arrived by then. The work goes on. Rejects as it does until then. */
export async function within<T>(ms: number, work: Promise<T>): Promise<T | undefined> {
  const done = new AbortController();
  try {
    return await Promise.race([work, pause(ms, done.signal).then(() => endOfTurn(undefined))]);
  } finally {
    done.abort();
  }
}
