import { setTimeout as sleep } from 'node:timers/promises';

const dayMs = 86_400_000;

/**
 * For tests of days and months in UTC, whose steps and expectations must see the same day: waits for the next day if this one ends
 * within `secondsLeft`, which a whole file has on a slow machine. `secondsInto` is how old the day must be besides, for a test that
 * moves rows back by less. It is awaited where a file is loaded, because a test or a hook may not take as long.
 */
export async function awayFromMidnight({ secondsInto = 0, secondsLeft = 300 } = {}): Promise<void> {
  const sinceMidnightMs = Date.now() % dayMs;
  if (sinceMidnightMs > dayMs - secondsLeft * 1_000) await sleep(dayMs - sinceMidnightMs + secondsInto * 1_000);
  else if (sinceMidnightMs < secondsInto * 1_000) await sleep(secondsInto * 1_000 - sinceMidnightMs);
}
