/** Of a receiver's answer only the status and `Retry-After` count. This much is read so that the connection can be used again. */
export const receiverAnswerBytesMax = 16_000;

/** The state of a callback after one try (rules "Callbacks"). */
export type DeliveryStep =
  { state: 'delivered' | 'exhausted' | 'gone' | 'blocked' } | { state: 'pending'; delaySeconds: number };

export type DeliveryResult =
  { kind: 'answered'; status: number; retryAfterSeconds: number | null } | { kind: 'blocked' } | { kind: 'failed' };

export interface DeliverySchedule {
  /** The retry schedule: the waits between tries, one fewer than tries. */
  retrySeconds: readonly number[];
  /** In [0, 1). */
  random: number;
}

/** What a worker needs after a try has timed out, to count it. */
const countSeconds = 5;

/**
 * How long one try is reserved for the worker that makes it: the configured lease, or longer for a long timeout, otherwise two workers
 * could send the same try.
 */
export const deliveryLeaseSeconds = ({
  leaseSeconds,
  timeoutSeconds,
}: {
  leaseSeconds: number;
  timeoutSeconds: number;
}) => Math.max(leaseSeconds, timeoutSeconds + countSeconds);

/** Each wait varies by a fifth in both directions, so that a receiver that recovers does not get every callback in one moment. */
const jitterShare = 0.2;

/**
 * The state after the `n`-th counted try (from 1). 2xx is delivered, 410 is gone, a blocked address is final. Everything else,
 * also a 3xx, waits for the next try or is exhausted. `Retry-After` is kept between one and two times the scheduled wait.
 */
export function nextDeliveryStep(
  n: number,
  result: DeliveryResult,
  { retrySeconds, random }: DeliverySchedule,
): DeliveryStep {
  if (result.kind === 'blocked') return { state: 'blocked' };
  if (result.kind === 'answered' && result.status >= 200 && result.status < 300) return { state: 'delivered' };
  if (result.kind === 'answered' && result.status === 410) return { state: 'gone' };
  const step = retrySeconds[n - 1];
  if (step === undefined) return { state: 'exhausted' };
  const spread = step * (1 + jitterShare * (2 * random - 1));
  const requestedSeconds = result.kind === 'answered' ? result.retryAfterSeconds : null;
  return {
    state: 'pending',
    delaySeconds: requestedSeconds === null ? spread : Math.min(Math.max(requestedSeconds, step), 2 * step),
  };
}
