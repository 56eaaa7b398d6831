import { setTimeout as delay } from 'node:timers/promises';

/** Waits `ms`, or until `signal` fires. Never throws. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted) return;
  await delay(Math.max(0, ms), undefined, signal ? { signal } : {}).catch(() => undefined);
}
