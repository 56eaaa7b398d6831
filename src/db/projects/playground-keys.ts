import { playgroundScopes } from '../../domain/projects/scope.ts';
import type { Database, Statements } from '../database.ts';
import { recordAudit } from '../operators/audit.ts';
import { insertKeySecret, type NewKeySecret } from './key-secrets.ts';
import { unixSeconds } from '../unix-seconds.ts';

export interface WantedPlaygroundKey {
  projectId: string;
  /** Of the admin token or the operator. */
  principalId: string;
  /** The id of the key if it is new, and its limits if it is new. */
  newKey: { keyId: string; name: string; rpm: number | null; inFlightMax: number | null };
  budgetDaily: number;
  expiresAt: Date;
}

/** Gives a principal its playground key of a project with a new secret, which ends the earlier one. Returns its id; null for an unknown project. */
export const issueKeyOfPlayground = (
  database: Database,
  { secret, actor, ...wanted }: WantedPlaygroundKey & { secret: NewKeySecret; actor: string },
): Promise<string | null> =>
  database.transaction('begin', async (query, inside) => {
    const key = await takePlaygroundKey(inside, wanted);
    if (!key) return null;
    const { keyId, before } = key;
    await insertKeySecret(query, { keyId, secret, overlapSeconds: 0, forPlayground: true });
    const { projectId, budgetDaily, expiresAt } = wanted;
    await recordAudit(inside, {
      actor,
      action: before ? 'keys.rotate' : 'keys.create',
      subject: keyId,
      before,
      after: { budgetDaily, expiresAt },
      detail: { projectId, playground: true },
    });
    return keyId;
  });

/**
 * The key of a principal for the playground of a project, with a new daily budget and a new end. `before` has the earlier ones. Adds a key if there
 * is none or it was revoked, and `before` is null; null for an unknown project. Calls at the same time for a project run one
 * after the other, by the lock that a change of limits takes anyway.
 */
async function takePlaygroundKey(
  inside: Statements,
  { projectId, principalId, newKey, budgetDaily, expiresAt }: WantedPlaygroundKey,
): Promise<{ keyId: string; before: { budgetDaily: number | null; expiresAt: Date | null } | null } | null> {
  await inside.query('lock-playground-account', 'select lock_accounts(array[$1::text])', [projectId]);
  const renewed = await inside.first<{ keyId: string; budgetDaily: number | null; expiresAt: Date | null }>(
    'renew-playground-key',
    `update api_key k set budget_daily = $3, expires_at = $4, scopes = $5
     from (select f.id, f.budget_daily, f.expires_at from playground_key p join api_key f on f.id = p.key_id
           where p.project_id = $1 and p.principal_id = $2 and f.revoked_at is null for update of f) former
     where k.id = former.id returning k.id as key_id, former.budget_daily, former.expires_at`,
    [projectId, principalId, budgetDaily, expiresAt, playgroundScopes],
  );
  if (renewed) {
    const { keyId: existingKeyId, ...before } = renewed;
    return { keyId: existingKeyId, before };
  }
  const { keyId, name, rpm, inFlightMax } = newKey;
  const added = await inside.first<{ keyId: string }>(
    'add-playground-key',
    `with added as (
       insert into api_key (id, project_id, name, rpm, in_flight_max, budget_daily, expires_at, scopes)
       select $3, id, $4, $5, $6, $7, $8, $9 from project where id = $1 returning id, project_id)
     insert into playground_key (project_id, principal_id, key_id) select project_id, $2, id from added
     on conflict (project_id, principal_id) do update set key_id = excluded.key_id returning key_id`,
    [projectId, principalId, keyId, name, rpm, inFlightMax, budgetDaily, expiresAt, playgroundScopes],
  );
  return added && { ...added, before: null };
}

/** Revokes the playground keys of an admin token or an operator, in the transaction that ends its sessions. */
export async function revokePlaygroundKeys(
  inside: Statements,
  { principalId, actor }: { principalId: string; actor: string },
): Promise<void> {
  await inside.query(
    'lock-playground-accounts',
    'select lock_accounts(array(select project_id from playground_key where principal_id = $1))',
    [principalId],
  );
  const revoked = await inside.query<{ keyId: string; projectId: string; revokedAt: number }>(
    'revoke-playground-keys',
    `update api_key k set revoked_at = clock_timestamp() from playground_key p
     where p.principal_id = $1 and k.id = p.key_id and k.revoked_at is null returning k.id as key_id, k.project_id,
       ${unixSeconds('k.revoked_at')} as revoked_at`,
    [principalId],
  );
  for (const { keyId, projectId, revokedAt } of revoked) {
    const change = { before: { revokedAt: null }, after: { revokedAt }, detail: { projectId } };
    await recordAudit(inside, { actor, action: 'keys.revoke', subject: keyId, ...change });
  }
}
