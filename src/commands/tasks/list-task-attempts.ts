import { listAttemptFacts, type AttemptFacts } from '../../db/attempt-details.ts';
import type { Deps } from '../../deps.ts';
import type { ErrorClass } from '../../domain/upstream.ts';

/** A call made for a task, as the public API shows it. Times are unix seconds. */
export interface PublicAttempt {
  id: string;
  object: 'attempt';
  n: number;
  outcome: AttemptFacts['outcome'];
  error: PublicErrorClass | null;
  /** The upstream's HTTP status; null if the upstream did not answer or if the error is `unavailable`. */
  status: number | null;
  started_at: number;
  submitted_at: number | null;
  ended_at: number | null;
}

/** `unavailable` hides errors between us and a provider from the client: our account, our model name, a redirect. */
type PublicErrorClass = Exclude<ErrorClass, OurOwn> | 'unavailable';
type OurOwn = 'account' | 'unknown_model' | 'redirect';

/**
 * The calls made for a task, in order, without what a client must not see: the channel, its job reference, its messages and our
 * cost.
 */
export async function listTaskAttempts({ db }: Pick<Deps, 'db'>, taskId: string): Promise<PublicAttempt[]> {
  const attempts = await listAttemptFacts(db, taskId);
  return attempts.map((attempt) => ({
    id: attempt.id,
    object: 'attempt',
    n: attempt.n,
    outcome: attempt.outcome,
    ...toPublic(attempt),
    started_at: attempt.startedAt,
    submitted_at: attempt.submittedAt,
    ended_at: attempt.endedAt,
  }));
}

function toPublic({ errorClass, status }: AttemptFacts): Pick<PublicAttempt, 'error' | 'status'> {
  if (errorClass === 'account' || errorClass === 'unknown_model' || errorClass === 'redirect')
    return { error: 'unavailable', status: null };
  return { error: errorClass, status };
}
