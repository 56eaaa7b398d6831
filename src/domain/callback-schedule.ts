/** What one try of a callback came to, and what follows (rules "Callbacks"). */
export type DeliveryStep =
  { state: 'delivered' | 'exhausted' | 'gone' | 'blocked' } | { state: 'pending'; delaySeconds: number };

export type DeliveryResult =
  { kind: 'answered'; status: number; retryAfterSeconds: number | null } | { kind: 'blocked' } | { kind: 'failed' };

export interface DeliverySchedule {
  /** Waits between tries; one try more than waits. */
  ladderSeconds: readonly number[];
  /** In [0, 1). */
  random: number;
}

/** Every wait is spread by a fifth to both sides, so that receivers that came back are not met by all at once. */
const jitterShare = 0.2;

/**
 * The state after the `n`-th counted try (from 1): 2xx delivered, 410 gone, a blocked address for good; anything else, a 3xx
 * too, waits for the next step or is exhausted. `Retry-After` counts between one and two times the step.
 */
export function nextDeliveryStep(
  n: number,
  result: DeliveryResult,
  { ladderSeconds, random }: DeliverySchedule,
): DeliveryStep {
  if (result.kind === 'blocked') return { state: 'blocked' };
  if (result.kind === 'answered' && result.status >= 200 && result.status < 300) return { state: 'delivered' };
  if (result.kind === 'answered' && result.status === 410) return { state: 'gone' };
  const step = ladderSeconds[n - 1];
  if (step === undefined) return { state: 'exhausted' };
  const spread = step * (1 + jitterShare * (2 * random - 1));
  const asked = result.kind === 'answered' ? result.retryAfterSeconds : null;
  return { state: 'pending', delaySeconds: asked === null ? spread : Math.min(Math.max(asked, step), 2 * step) };
}
