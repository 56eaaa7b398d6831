import { setTimeout as sleep } from 'node:timers/promises';

/** Rejects if `work` takes longer. Counts short sleeps, so that the time does not pass while the whole machine is stopped. */
export async function within<T>(seconds: number, work: Promise<T>): Promise<T> {
  let over = false;
  const limit = async (): Promise<never> => {
    for (let ticks = 0; ticks < seconds * 20 && !over; ticks++) await sleep(50);
    throw new Error(`not within ${seconds} s`);
  };
  try {
    return await Promise.race([work, limit()]);
  } finally {
    over = true;
  }
}
