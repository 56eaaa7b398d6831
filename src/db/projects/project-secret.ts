import type { Database, Statements } from '../database.ts';
import { unixSeconds } from '../unix-seconds.ts';

/** The sealed callback secrets of a project. */
export interface StoredSecret {
  sealed: string;
  /** The previous secret while it also signs. */
  sealedPrevious: string | null;
  /** The end of the overlap in unix seconds; null if no rotation overlaps. */
  previousUntil: number | null;
}

/** Uses the clock of the database, as the signatures of callbacks do. Null if there is no such project. */
export async function readProjectSecret(database: Database, projectId: string): Promise<StoredSecret | null> {
  return database.first<StoredSecret>(
    'operator-project-secret',
    `select p.callback_secret as sealed, o.sealed as sealed_previous, o.until as previous_until
     from project p left join lateral (
       select p.callback_secret_previous as sealed, ${unixSeconds('p.callback_secret_previous_until')} as until
       where p.callback_secret_previous is not null and p.callback_secret_previous_until > clock_timestamp()
     ) o on true
     where p.id = $1`,
    [projectId],
  );
}

/**
 * Replaces the callback secret. The replaced secret also signs for `overlapSeconds`, until `previousUntil` (unix seconds). Changes nothing and
 * returns null for an unknown project and, unless forced, during the overlap of an earlier rotation.
 */
export async function replaceProjectSecret(
  inside: Statements,
  input: { projectId: string; sealed: string; overlapSeconds: number; force: boolean },
): Promise<{ previousUntilBefore: number | null; previousUntil: number } | null> {
  return inside.first(
    'operator-replace-secret',
    `update project set callback_secret_previous = callback_secret, callback_secret = $2,
       callback_secret_previous_until = clock_timestamp() + make_interval(secs => $3)
     where id = $1 and ($4 or callback_secret_previous is null
       or coalesce(callback_secret_previous_until <= clock_timestamp(), true))
     returning ${unixSeconds('old.callback_secret_previous_until')} as previous_until_before,
       ${unixSeconds('new.callback_secret_previous_until')} as previous_until`,
    [input.projectId, input.sealed, input.overlapSeconds, input.force],
  );
}
