/** Limits the retries of this process, so that they do not multiply the load on providers that already fail. */
export interface RetryBudget {
  /** Counts one request. */
  note(): void;
  /** Counts a retry and returns true if the budget allows it: `max(floor, share * requests)` in the last minute. */
  take(): boolean;
}

const minuteMs = 60_000;

/** Approximates a sliding minute from the counts of the current and the previous minute, so it needs no timer. */
export function createRetryBudget(
  { floor, share }: { floor: number; share: number },
  now = () => performance.now(),
): RetryBudget {
  let began = now();
  let current = { requests: 0, retries: 0 };
  let previous = { requests: 0, retries: 0 };
  const rotate = () => {
    const age = now() - began;
    if (age < minuteMs) return;
    previous = age < 2 * minuteMs ? current : { requests: 0, retries: 0 };
    current = { requests: 0, retries: 0 };
    began = now();
  };
  const inLastMinute = (part: 'requests' | 'retries') =>
    current[part] + previous[part] * Math.max(0, 1 - (now() - began) / minuteMs);
  return {
    note() {
      rotate();
      current.requests += 1;
    },
    take() {
      rotate();
      if (inLastMinute('retries') >= Math.max(floor, share * inLastMinute('requests'))) return false;
      current.retries += 1;
      return true;
    },
  };
}
