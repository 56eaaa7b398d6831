import { listAttemptFacts } from '../../../db/tasks/attempt-details.ts';
import type { Deps } from '../../../deps.ts';
import type { PublicAttempt } from '../../../schemas/task.ts';

/** Errors between us and a provider, which are hidden from the client: our account, our model name, a redirect. */
const ourOwn: ReadonlySet<string | null> = new Set(['account', 'forbidden', 'unknown_model', 'redirect']);

/**
 * The calls made for a task, in order, as the public API shows them: without the channel, its job reference, its messages and our
 * cost. `status` is null if the upstream did not answer or if the error is `unavailable`. Times are unix seconds.
 */
export async function listTaskAttempts({ db }: Pick<Deps, 'db'>, taskId: string): Promise<PublicAttempt[]> {
  const attempts = await listAttemptFacts(db, taskId);
  return attempts.map(({ id, n, outcome, errorClass, status, startedAt, submittedAt, endedAt }) => {
    const shown = ourOwn.has(errorClass) ? { error: 'unavailable', status: null } : { error: errorClass, status };
    const times = { started_at: startedAt, submitted_at: submittedAt, ended_at: endedAt };
    return { id, object: 'attempt', n, outcome, ...shown, ...times };
  });
}
