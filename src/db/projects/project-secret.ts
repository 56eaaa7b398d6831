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

export type Rotation = { verdict: 'rotated' | 'not_found' } | { verdict: 'overlap'; previousUntil: number };

/**
 * Rotates the callback secret of a project: the previous one also signs for `overlapSeconds`. Unless forced, changes nothing during the overlap of
 * an earlier rotation.
 */
export const rotateStoredSecret = (
  database: Database,
  input: { projectId: string; sealed: string; overlapSeconds: number; force: boolean; actor: string },
): Promise<Rotation> =>
  database.transaction('begin', async (_query, inside) => {
    const { projectId, sealed, overlapSeconds, force, actor } = input;
    const before = await inside.first<{ previousUntil: number | null; overlaps: boolean }>(
      'operator-lock-secret',
      `select ${unixSeconds('p.callback_secret_previous_until')} as previous_until,
         coalesce(p.callback_secret_previous is not null and p.callback_secret_previous_until > clock_timestamp(), false) as overlaps
       from project p where p.id = $1 for update`,
      [projectId],
    );
    if (before === null) return { verdict: 'not_found' };
    const { previousUntil, overlaps } = before;
    if (previousUntil !== null && overlaps && !force) return { verdict: 'overlap', previousUntil };
    const after = await inside.first<{ previousUntil: number }>(
      'operator-rotate-secret',
      `update project p set callback_secret_previous = p.callback_secret, callback_secret = $2,
         callback_secret_previous_until = clock_timestamp() + make_interval(secs => $3)
       where p.id = $1 returning ${unixSeconds('p.callback_secret_previous_until')} as previous_until`,
      [projectId, sealed, overlapSeconds],
    );
    await recordAudit(inside, {
      actor,
      action: 'projects.secret.rotate',
      subject: projectId,
      before: { secret: 'the earlier one', previousUntil },
      after: { secret: 'a new one', previousUntil: after?.previousUntil ?? null },
      ...(force && { detail: { forced: true } }),
    });
    return { verdict: 'rotated' };
  });
