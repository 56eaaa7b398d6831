import { actorOf, type AdminAccess, type OidcIdentity } from '../../domain/operators/admin-access.ts';
import type { Database, Statements } from '../database.ts';
import { unixSeconds } from '../unix-seconds.ts';
import { recordAudit } from './audit.ts';
import { consumeOidcState } from './consume-oidc-state.ts';
import { findOperator } from './operators.ts';

/** The live token with one of these digests, or null. Notes at most once a minute that the token was used. */
export async function findByAdminToken(database: Database, digests: readonly Buffer[]): Promise<AdminAccess | null> {
  const row = await database.first<AccessRow>(
    'find-by-admin-token',
    `with found as (select ${columnsOfToken}, t.expires_at as until from admin_token t where digest = any ($1) and ${isLive}),
       ${noteUse('admin_token')}
     select ${accessColumns} from found`,
    [digests],
  );
  return row && toAccess(row);
}

/** The token or the operator of the live session with one of these digests, or null. */
export async function findByAdminSession(database: Database, digests: readonly Buffer[]): Promise<AdminAccess | null> {
  const row = await database.first<AccessRow>(
    'find-by-admin-session',
    `with live as (select * from admin_session where digest = any ($1) and expires_at > clock_timestamp()),
     found as (
       select ${columnsOfToken}, least(s.expires_at, t.expires_at) as until
       from live s join admin_token t on t.id = s.token_id where ${isLive}
       union all
       select ${columnsOfOperator}, s.expires_at from live s join admin_operator o on o.id = s.operator_id),
     ${noteUse('admin_token')}, ${noteUse('admin_operator')}
     select ${accessColumns} from found`,
    [digests],
  );
  return row && toAccess(row);
}

const isLive = '(t.revoked_at is null and (t.expires_at is null or t.expires_at > clock_timestamp()))';
const columnsOfToken = 't.id, t.name, t.role, null as issuer, null as subject';
const columnsOfOperator = 'o.id, o.name, o.role, o.issuer, o.subject';
const noteUse = (table: 'admin_token' | 'admin_operator'): string => `used_${table} as (
  update ${table} p set last_used_at = clock_timestamp() from found
  where p.id = found.id and (p.last_used_at is null or p.last_used_at < clock_timestamp() - interval '1 minute'))`;
const accessColumns = `id as principal_id, name, role, issuer, subject, ${unixSeconds('until')} as expires_at`;

interface AccessRow extends Omit<AdminAccess, 'identity'> {
  issuer: string | null;
  subject: string | null;
}

const toAccess = ({ issuer, subject, ...row }: AccessRow): AdminAccess => ({
  ...row,
  identity: issuer === null || subject === null ? null : { issuer, subject },
});

interface NewSession {
  digest: Buffer;
  seconds: number;
}

/** Begins a session of a token or an operator. Returns its end in unix seconds, which is never after that of the token. */
export const beginAdminSession = (database: Database, access: AdminAccess, session: NewSession): Promise<number> =>
  database.transaction('begin', (_query, inside) => insertSession(inside, access, session));

/**
 * Begins a session of the operator with this identity, once for each sign-in. `unknown`: no owner entered the identity. `used`: the
 * sign-in has begun a session before.
 */
export const beginOidcSession = (
  database: Database,
  identity: OidcIdentity,
  { stateSha256, stateSeconds, ...session }: NewSession & { stateSha256: string; stateSeconds: number },
): Promise<{ access: AdminAccess; expiresAt: number } | 'unknown' | 'used'> =>
  database.transaction('begin', async (_query, inside) => {
    const access = await findOperator(inside, identity);
    if (!access) return 'unknown';
    if (!(await consumeOidcState(inside, { stateSha256, seconds: stateSeconds }))) return 'used';
    return { access, expiresAt: await insertSession(inside, access, session) };
  });

/** Also forgets the sessions that have expired. */
async function insertSession(
  inside: Statements,
  access: AdminAccess,
  { digest, seconds }: NewSession,
): Promise<number> {
  const { principalId } = access;
  await inside.query('purge-admin-sessions', 'delete from admin_session where expires_at <= clock_timestamp()');
  const row = await inside.first<{ expiresAt: number }>(
    'add-admin-session',
    `insert into admin_session (digest, token_id, operator_id, expires_at)
     select $1, t.id, o.id, least(t.expires_at, clock_timestamp() + make_interval(secs => $3))
     from (select $2::text as id) p left join admin_token t on t.id = p.id left join admin_operator o on o.id = p.id
     returning ${unixSeconds('expires_at')} as expires_at`,
    [digest, principalId, seconds],
  );
  if (!row) throw new Error(`no session of ${principalId} was begun`);
  await recordAudit(inside, {
    actor: actorOf(access),
    action: 'admin_sessions.begin',
    subject: principalId,
    before: null,
    after: row,
  });
  return row.expiresAt;
}

/** Ends the session with one of these digests; false if there is none. */
export const deleteAdminSession = (
  database: Database,
  access: AdminAccess,
  digests: readonly Buffer[],
): Promise<boolean> =>
  database.transaction('begin', async (_query, inside) => {
    const before = await inside.first<{ expiresAt: number }>(
      'end-admin-session',
      `delete from admin_session where digest = any ($1) returning ${unixSeconds('expires_at')} as expires_at`,
      [digests],
    );
    if (!before) return false;
    await recordAudit(inside, {
      actor: actorOf(access),
      action: 'admin_sessions.end',
      subject: access.principalId,
      before,
      after: null,
    });
    return true;
  });
