import type { AdminAccess } from '../domain/admin-access.ts';
import type { Database, Statements } from './database.ts';
import { unixSeconds } from './unix-seconds.ts';

/** The live token with one of these digests, or null. Notes at most once a minute that the token was used. */
export const findByAdminToken = (database: Database, digests: readonly Buffer[]): Promise<AdminAccess | null> =>
  database.first<AdminAccess>(
    'find-by-admin-token',
    `with found as (select *, expires_at as until from admin_token t where digest = any ($1) and ${isLive}), ${noteUse}
     select ${accessColumns} from found`,
    [digests],
  );

/** The token of the live session with one of these digests, or null. */
export const findByAdminSession = (database: Database, digests: readonly Buffer[]): Promise<AdminAccess | null> =>
  database.first<AdminAccess>(
    'find-by-admin-session',
    `with found as (
       select t.*, least(s.expires_at, t.expires_at) as until from admin_session s join admin_token t on t.id = s.token_id
       where s.digest = any ($1) and s.expires_at > clock_timestamp() and ${isLive}), ${noteUse}
     select ${accessColumns} from found`,
    [digests],
  );

const isLive = '(t.revoked_at is null and (t.expires_at is null or t.expires_at > clock_timestamp()))';
const noteUse = `used as (
  update admin_token t set last_used_at = clock_timestamp() from found
  where t.id = found.id and (t.last_used_at is null or t.last_used_at < clock_timestamp() - interval '1 minute'))`;
const accessColumns = `id as token_id, name, role, ${unixSeconds('until')} as expires_at`;

/** Begins a session of a token and forgets those that have expired. Returns its end in unix seconds, which is never after that of the token. */
export async function insertAdminSession(
  inside: Statements,
  { digest, tokenId, seconds }: { digest: Buffer; tokenId: string; seconds: number },
): Promise<number> {
  await inside.query('purge-admin-sessions', 'delete from admin_session where expires_at <= clock_timestamp()');
  const row = await inside.first<{ expiresAt: number }>(
    'add-admin-session',
    `insert into admin_session (digest, token_id, expires_at)
     select $1, id, least(expires_at, clock_timestamp() + make_interval(secs => $3)) from admin_token where id = $2
     returning ${unixSeconds('expires_at')} as expires_at`,
    [digest, tokenId, seconds],
  );
  if (!row) throw new Error(`there is no admin token ${tokenId}`);
  return row.expiresAt;
}

/** Ends the session with one of these digests; false if there is none. */
export const deleteAdminSession = (inside: Statements, digests: readonly Buffer[]): Promise<boolean> =>
  inside.returnsRow('end-admin-session', 'delete from admin_session where digest = any ($1) returning token_id', [
    digests,
  ]);
