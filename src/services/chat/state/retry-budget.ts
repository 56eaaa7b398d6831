import { isAboveShare } from '../../../platform/fair-budget.ts';

/** Limits the retries of this process, so that they do not multiply the load on providers that already fail. */
export interface RetryBudget {
  /** Counts one request. */
  note(): void;
  /**
   * Counts a retry of a project and returns true if the budget allows it: `max(floor, share * requests)` in the last minute, of which a
   * project may have more than a quarter only while a quarter is free. So the failing chats of one project leave retries to others.
   */
  take(projectId: string): boolean;
}

interface Minute {
  requests: number;
  retries: number;
  retriesOf: Map<string, number>;
}

const minuteMs = 60_000;
const empty = (): Minute => ({ requests: 0, retries: 0, retriesOf: new Map() });

/** Approximates a sliding minute from the counts of the current and the previous minute, so it needs no timer. */
export function createRetryBudget(
  { floor, share }: { floor: number; share: number },
  now = () => performance.now(),
): RetryBudget {
  let began = now();
  let current = empty();
  let previous = empty();
  const rotate = () => {
    const age = now() - began;
    if (age < minuteMs) return;
    previous = age < 2 * minuteMs ? current : empty();
    current = empty();
    began = now();
  };
  const inLastMinute = (count: (minute: Minute) => number) =>
    count(current) + count(previous) * Math.max(0, 1 - (now() - began) / minuteMs);
  return {
    note() {
      rotate();
      current.requests += 1;
    },
    take(projectId) {
      rotate();
      const held = inLastMinute(({ retries }) => retries);
      const owns = inLastMinute(({ retriesOf }) => retriesOf.get(projectId) ?? 0) + 1;
      const total = Math.max(floor, share * inLastMinute(({ requests }) => requests));
      if (held >= total || isAboveShare({ total, held, owns })) return false;
      current.retries += 1;
      current.retriesOf.set(projectId, (current.retriesOf.get(projectId) ?? 0) + 1);
      return true;
    },
  };
}
