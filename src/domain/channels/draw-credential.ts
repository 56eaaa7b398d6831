import type { Attempt } from './upstream.ts';

interface Credential {
  id: string;
  /** Unix milliseconds; 0 if it does not cool down. */
  unavailableUntilMs: number;
}

/**
 * The credentials of a channel that a call may send, in the order to try them. `turn` grows by one with each call, so that calls use them
 * evenly. Left out are those that cool down and those in `without`.
 */
export function credentialsInTurn<T extends Credential>(
  credentials: readonly T[],
  { turn, nowMs, without }: { turn: number; nowMs: number; without: ReadonlySet<string> },
): T[] {
  const ready = credentials.filter(({ id, unavailableUntilMs }) => unavailableUntilMs <= nowMs && !without.has(id));
  if (ready.length < 2) return ready;
  const start = turn % ready.length;
  return [...ready.slice(start), ...ready.slice(0, start)];
}

/** Whether a failed call says something about its credential alone: another one of the same channel may do, and nothing was bought. */
export const isOfCredential = (attempt: Attempt<unknown>): boolean =>
  attempt.kind === 'transient' && ['rate_limit', 'account', 'forbidden'].includes(attempt.errorClass);

/** Credentials of one channel that may fail for one request. More would make a client wait for a provider that refuses all of them. */
export const CREDENTIALS_MAX = 10;
