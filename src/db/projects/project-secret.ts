import type { Database } from '../database.ts';
import { recordAudit } from '../operators/audit.ts';
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
 * Replaces the callback secret. The replaced secret also signs for `overlapSeconds`. Changes nothing and returns false for an unknown
 * project and, unless forced, during the overlap of an earlier rotation.
 */
export const replaceProjectSecret = (
  database: Database,
  input: { projectId: string; sealed: string; overlapSeconds: number; force: boolean; actor: string },
): Promise<boolean> =>
  database.transaction('begin', async (_query, inside) => {
    const { projectId, sealed, overlapSeconds, force, actor } = input;
    const replaced = await inside.first<{ previousUntilBefore: number | null; previousUntil: number }>(
      'operator-replace-secret',
      `update project p set callback_secret_previous = p.callback_secret, callback_secret = $2,
         callback_secret_previous_until = clock_timestamp() + make_interval(secs => $3)
       from (select id, callback_secret_previous_until as until from project where id = $1 and ($4 or callback_secret_previous is null
               or coalesce(callback_secret_previous_until <= clock_timestamp(), true)) for update) former
       where p.id = former.id
       returning ${unixSeconds('former.until')} as previous_until_before,
         ${unixSeconds('p.callback_secret_previous_until')} as previous_until`,
      [projectId, sealed, overlapSeconds, force],
    );
    if (!replaced) return false;
    await recordAudit(inside, {
      actor,
      action: 'projects.secret.rotate',
      subject: projectId,
      before: { secret: 'the earlier one', previousUntil: replaced.previousUntilBefore },
      after: { secret: 'a new one', previousUntil: replaced.previousUntil },
      ...(force && { detail: { forced: true } }),
    });
    return true;
  });
