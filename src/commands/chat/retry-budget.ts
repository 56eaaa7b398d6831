/** How many further attempts this process may make: a tenth of a storm is enough to hurt a provider that is down. */
export interface RetryBudget {
  /** Counts one request. */
  note(): void;
  /** True, and counted, while this minute's budget lasts: `max(floor, share of its requests)`. */
  take(): boolean;
}

const minuteMs = 60_000;

/** Counts in a sliding minute of two halves; bounded memory, no timer. */
export function createRetryBudget(
  { floor, share }: { floor: number; share: number },
  now = () => performance.now(),
): RetryBudget {
  let began = now();
  let current = { requests: 0, retries: 0 };
  let before = { requests: 0, retries: 0 };
  const turn = () => {
    const age = now() - began;
    if (age < minuteMs) return;
    before = age < 2 * minuteMs ? current : { requests: 0, retries: 0 };
    current = { requests: 0, retries: 0 };
    began = now();
  };
  const weighed = (part: 'requests' | 'retries') =>
    current[part] + before[part] * Math.max(0, 1 - (now() - began) / minuteMs);
  return {
    note() {
      turn();
      current.requests += 1;
    },
    take() {
      turn();
      if (weighed('retries') >= Math.max(floor, share * weighed('requests'))) return false;
      current.retries += 1;
      return true;
    },
  };
}
