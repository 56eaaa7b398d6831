import type { Database } from '../database.ts';
import { addCreditsInside, type AddedCredits } from '../ledger/credits.ts';

export interface HeldGrant {
  /** The id of the code there. */
  id: string;
  /** The SHA-256 of the code, in hexadecimal. */
  digest: string;
  name: string;
  credits: number;
  expiresAt: Date | null;
}

/**
 * Makes the grants that are held for a source those that are unspent there. A grant that a project got here stays as it is, and a code that is
 * held for another source is not held twice. Returns how many are new.
 */
export const replaceHeldGrants = (
  database: Database,
  { source, grants }: { source: string; grants: readonly HeldGrant[] },
): Promise<number> =>
  database.transaction('begin', async (_query, inside) => {
    const rows = grants.map(({ id, digest, name, credits, expiresAt }) => ({
      external_id: id,
      digest,
      name,
      credits,
      ends_at: expiresAt,
    }));
    await inside.query(
      'drop-held-grants',
      `delete from held_grant where source = $1 and project_id is null and not external_id = any ($2::text[])`,
      [source, grants.map(({ id }) => id)],
    );
    const added = await inside.query<{ isNew: boolean }>(
      'hold-grants',
      `insert into held_grant (source, external_id, code_digest, name, credits, ends_at)
       select $1, external_id, decode(digest, 'hex'), name, credits, ends_at from jsonb_to_recordset($2::jsonb)
         as x(external_id text, digest text, name text, credits bigint, ends_at timestamptz)
       where not exists (select 1 from held_grant h where h.code_digest = decode(x.digest, 'hex')
         and (h.source, h.external_id) <> ($1, x.external_id))
       on conflict (source, external_id) do update set credits = excluded.credits, ends_at = excluded.ends_at, name = excluded.name
         where held_grant.project_id is null
       returning xmax = 0 as is_new`,
      [source, JSON.stringify(rows)],
    );
    return added.filter(({ isNew }) => isNew).length;
  });

export interface RedeemedGrant {
  credits: number;
  reference: string;
  /** The project that has them, if another one got them before. */
  redeemedBy: string | null;
  added: AddedCredits | null;
}

/** Gives the credits of a code to a project, once. Null if no grant is held for the code. */
export const giveHeldGrant = (
  database: Database,
  { digest, projectId, actor }: { digest: string; projectId: string; actor: string },
): Promise<RedeemedGrant | null> =>
  database.transaction('begin', async (_query, inside) => {
    const grant = await inside.first<{
      source: string;
      externalId: string;
      credits: number;
      endsAt: Date | null;
      projectId: string | null;
    }>(
      'lock-held-grant',
      `select source, external_id, credits, ends_at, project_id from held_grant where code_digest = decode($1, 'hex') for update`,
      [digest],
    );
    if (!grant) return null;
    const { credits, endsAt: expiresAt } = grant;
    const reference = `import:${grant.source}:redemption:${grant.externalId}`;
    const redeemedBy = grant.projectId === projectId ? null : grant.projectId;
    if (redeemedBy !== null) return { credits, reference, redeemedBy, added: null };
    const added = await addCreditsInside(
      inside,
      { projectId, amount: credits, reference, expiresAt, actor },
      'credits.redeem',
    );
    if (added.verdict === 'added')
      await inside.query(
        'give-held-grant',
        `update held_grant set project_id = $2, given_at = clock_timestamp() where code_digest = decode($1, 'hex')`,
        [digest, projectId],
      );
    return { credits, reference, redeemedBy, added };
  });
