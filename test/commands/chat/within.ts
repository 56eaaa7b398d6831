import { setTimeout as sleep } from 'node:timers/promises';

/** Rejects when `work` takes longer, by a clock of small steps: it stands still when the whole machine does. */
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
