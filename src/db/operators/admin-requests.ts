import type { Database } from '../database.ts';

export interface AdminRequest {
  /** Of the admin token or the operator. */
  principalId: string;
  /** Its Idempotency-Key. */
  key: string;
}

/** What an Idempotency-Key is bound to. */
export interface BoundRequest {
  fingerprint: string;
  /** Sealed; null while the request runs, or if its process ended before the answer. */
  answer: string | null;
  ageSeconds: number;
}

/** Binds a key to a request for `keptSeconds`. Returns null, or what the key is already bound to. */
export async function bindAdminRequest(
  database: Database,
  { principalId, key }: AdminRequest,
  { fingerprint, keptSeconds }: { fingerprint: string; keptSeconds: number },
): Promise<BoundRequest | null> {
  await database.query('purge-admin-requests', 'delete from admin_request where expires_at <= clock_timestamp()');
  const isBound = await database.returnsRow(
    'bind-admin-request',
    `insert into admin_request (principal_id, key, fingerprint, expires_at)
     values ($1, $2, $3, clock_timestamp() + make_interval(secs => $4)) on conflict (principal_id, key) do nothing returning key`,
    [principalId, key, fingerprint, keptSeconds],
  );
  if (isBound) return null;
  const bound = await database.first<BoundRequest>(
    'find-admin-request',
    `select fingerprint, answer, extract(epoch from clock_timestamp() - begun_at)::float8 as age_seconds
     from admin_request where principal_id = $1 and key = $2`,
    [principalId, key],
  );
  // The other request was refused between the two statements.
  return bound ?? { fingerprint, answer: null, ageSeconds: 0 };
}

export async function storeAdminAnswer(
  database: Database,
  { principalId, key }: AdminRequest,
  answer: string,
): Promise<void> {
  await database.query(
    'store-admin-answer',
    'update admin_request set answer = $3 where principal_id = $1 and key = $2',
    [principalId, key, answer],
  );
}

/** Frees the key of a request that was refused and changed nothing. */
export async function freeAdminRequest(database: Database, { principalId, key }: AdminRequest): Promise<void> {
  await database.query('free-admin-request', 'delete from admin_request where principal_id = $1 and key = $2', [
    principalId,
    key,
  ]);
}
