import { listAttemptFacts, type AttemptFacts } from '../../db/attempt-details.ts';
import type { Deps } from '../../deps.ts';
import type { ErrorClass } from '../../domain/upstream.ts';

/** A call made for a task, in the words of the public API. Times are unix seconds. */
export interface PublicAttempt {
  id: string;
  object: 'attempt';
  n: number;
  outcome: AttemptFacts['outcome'];
  error: PublicErrorClass | null;
  /** The HTTP status that the call was answered with; null when there was none, or when it is nobody's business. */
  status: number | null;
  started_at: number;
  submitted_at: number | null;
  ended_at: number | null;
}

/** `unavailable` stands for what is wrong between us and a provider: our account there, our name for its model. */
type PublicErrorClass = Exclude<ErrorClass, OurOwn> | 'unavailable';
type OurOwn = 'account' | 'unknown_model' | 'redirect';

/**
 * The calls made for a task, in order, as its client may see them: neither the channel, nor its reference, its words or what it
 * cost us.
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
