import type { InferEntity } from '@mikro-orm/postgresql';
import type { Page } from '../../domain/page.ts';
import type { Scope } from '../../domain/projects/scope.ts';
import type { Database, Transaction } from '../database.ts';
import type { ApiKey } from '../entities/api-key.ts';
import { loadEntities } from '../entities/load-entities.ts';
import { changesOf, recordAudit } from '../operators/audit.ts';
import { hasText, inOrder, operatorPageText, pageOfRows, type ListRequest, type Positioned } from '../list-order.ts';
import { isOfPlayground } from './is-of-playground.ts';
import type { NewKeySecret } from './key-secrets.ts';
import { unixSeconds } from '../unix-seconds.ts';

export const keyStates = ['active', 'expired', 'revoked'] as const;
export type KeyState = (typeof keyStates)[number];

/** What a key is and what it may spend. */
export interface KeyAllowance {
  keyId: string;
  projectId: string;
  name: string;
  metadata: Record<string, string>;
  scopes: Scope[];
  models: string[] | null;
  rpm: number | null;
  inFlightMax: number | null;
  inFlight: number;
  budget: number | null;
  spent: number;
  reserved: number;
  budgetDaily: number | null;
  budgetMonthly: number | null;
  expiresAt: number | null;
}

export interface KeyRow extends KeyAllowance {
  /** A key of the playground of the console. Its limits and its secret cannot be changed. */
  playground: boolean;
  state: KeyState;
  /** The first characters of the newest secret. The secret itself is not stored. */
  prefix: string | null;
  last4: string | null;
  ipRanges: string[] | null;
  /** Spent and reserved by the requests of this day, UTC. */
  usedToday: number;
  usedThisMonth: number;
  revokedAt: number | null;
  lastUsedAt: number | null;
  createdAt: number;
}

export interface KeyFilter {
  projectId?: string | undefined;
  state?: KeyState | undefined;
  /** A part of the name or of the id, or the last four characters of a secret. */
  q?: string | undefined;
}

/** One page of the keys. Their secrets are read for the rows of the page only. */
export async function listKeys(
  database: Database,
  { projectId, state, q }: KeyFilter,
  request: ListRequest,
): Promise<Page<KeyRow>> {
  const values: unknown[] = [projectId ?? null, state ?? null, request.limit + 1, q ?? null];
  const { where, order, position } = inOrder('k', keyColumns, request, values);
  const rows = await database.query<KeyRow & Positioned>(
    `operator-keys-${request.sort}`,
    operatorPageText(`select k.position, ${keyFields} ${fromKeys(`(
       select k.*, ${position} as position from api_key k ${thisDay}
       where ${where} and ($1::text is null or k.project_id = $1) and ($2::text is null or ${stateOfKey} = $2)
         and (${hasText('$4', ['k.name', 'k.id'])} or k.id in (select key_id from api_key_secret where last4 = $4))
       order by ${order} limit $3::int)`)}
     order by ${order}`),
    values,
  );
  return pageOfRows(rows, request.limit);
}

const stateOfKey = `case when k.revoked_at is not null then 'revoked' when k.expires_at <= clock_timestamp() then 'expired'
  else 'active' end`;

const keyFields = `k.id as key_id, k.project_id, k.name, k.metadata, ${isOfPlayground} as playground, ${stateOfKey} as state,
  s.prefix, s.last4, k.scopes, k.ip_ranges, k.models, k.rpm, k.in_flight_max, k.in_flight, k.budget, k.spent, k.reserved,
  k.budget_daily, in_period(k.day_spent + k.day_reserved, k.used_on, now.day) as used_today,
  k.budget_monthly, in_period(k.month_spent + k.month_reserved, k.used_on, now.month) as used_this_month,
  ${unixSeconds('k.expires_at')} as expires_at, ${unixSeconds('k.revoked_at')} as revoked_at,
  ${unixSeconds('k.last_used_at')} as last_used_at, ${unixSeconds('k.created_at')} as created_at`;
const thisDay = `cross join (select day, date_trunc('month', day::timestamp)::date as month
              from (select (clock_timestamp() at time zone 'UTC')::date as day) today) now`;
const newestSecret = (column: string): string =>
  `select ${column} from api_key_secret where key_id = k.id order by created_at desc, id desc limit 1`;
const fromKeys = (rows: string): string =>
  `from ${rows} k left join lateral (${newestSecret('prefix, last4')}) s on true ${thisDay}`;

/** What one key has beside its row in the list. */
export interface ShownKeyRow extends KeyRow {
  projectName: string;
  /** POST requests of the last 60 seconds; null for a key without a limit, whose requests are not counted. */
  requests: number | null;
  /** As the audit log has it. Null for a key that is older than the log. */
  createdBy: string | null;
}

/** One key by its id, or null. */
export const findKey = (database: Database, keyId: string): Promise<ShownKeyRow | null> =>
  database.first(
    'find-operator-key',
    `select ${keyFields}, case when k.rpm is not null then recent_requests(k.id) end as requests,
       (select p.name from project p where p.id = k.project_id) as project_name,
       (select e.actor from audit_entry e where e.subject = k.id and e.before is null and e.after is not null
        order by e.at, e.id limit 1) as created_by
     ${fromKeys('api_key')} where k.id = $1`,
    [keyId],
  );

/** The columns of the list of keys that it can be sorted by. */
export const keyColumns = {
  key_id: 'k.id',
  project_id: 'k.project_id',
  state: stateOfKey,
  playground: { number: `(${isOfPlayground})::int` },
  prefix: `(${newestSecret('prefix')})`,
  last4: `(${newestSecret('last4')})`,
  name: 'k.name',
  rpm: { number: 'k.rpm' },
  in_flight_max: { number: 'k.in_flight_max' },
  budget: { number: 'k.budget' },
  budget_daily: { number: 'k.budget_daily' },
  budget_monthly: { number: 'k.budget_monthly' },
  expires_at: { time: 'k.expires_at' },
  in_flight: { number: 'k.in_flight' },
  spent: { number: 'k.spent' },
  reserved: { number: 'k.reserved' },
  used_today: { number: 'in_period(k.day_spent + k.day_reserved, k.used_on, now.day)' },
  used_this_month: { number: 'in_period(k.month_spent + k.month_reserved, k.used_on, now.month)' },
  revoked_at: { time: 'k.revoked_at' },
  last_used_at: { time: 'k.last_used_at' },
  created_at: { time: 'k.created_at' },
} as const;

/** The settings of a key that an operator may change; null means no limit. */
export interface KeyLimits {
  name: string;
  metadata: Record<string, string>;
  scopes: Scope[];
  /** The addresses that may use the key, as CIDRs. */
  ipRanges: string[] | null;
  models: string[] | null;
  rpm: number | null;
  budget: number | null;
  budgetDaily: number | null;
  budgetMonthly: number | null;
  inFlightMax: number | null;
  expiresAt: Date | null;
}

export type NewKey = Partial<KeyLimits> &
  Pick<KeyLimits, 'metadata' | 'scopes' | 'rpm' | 'inFlightMax'> & { keyId: string; projectId: string };

/** Adds a key with its secret, unless there is no such project or `digests`, under which the secret may be stored, has one that a key has. */
export const insertKey = (
  database: Database,
  { keyId, secret, digests, actor, ...changes }: NewKey & { secret: NewKeySecret; digests: Buffer[]; actor: string },
): Promise<'added' | 'unknown_project' | 'secret_taken'> =>
  database.transaction('begin', async (query, inside) => {
    const { ApiKey, ApiKeySecret, Project } = await loadEntities();
    const em = await inside.entities();
    if ((await em.count(Project, { id: changes.projectId })) === 0) return 'unknown_project';
    // Two calls with the same secret run one after the other.
    await query('lock-key-secret', `select pg_advisory_xact_lock(hashtextextended('key secret ' || $1, 0))`, [
      secret.digest.toString('hex'),
    ]);
    if (await inside.returnsRow('find-key-secret', 'select id from api_key_secret where digest = any ($1)', [digests]))
      return 'secret_taken';
    em.create(ApiKey, { id: keyId, ...changes });
    await em.flush();
    em.create(ApiKeySecret, { keyId, ...secret });
    await recordAudit(inside, { actor, action: 'keys.create', subject: keyId, before: null, after: changes });
    return 'added';
  });

/**
 * Marks a key as revoked, once; null if there is no such key. Admission reads the mark, so it takes effect immediately. `revokedAt` is in
 * unix seconds.
 */
export const markKeyRevoked = (
  database: Database,
  { keyId, actor }: { keyId: string; actor: string },
): Promise<{ revokedAt: number; changed: boolean } | null> =>
  database.transaction('begin', async (_query, inside) => {
    const { ApiKey, raw } = await loadEntities();
    await lockAccountOf(inside, keyId);
    const em = await inside.entities();
    const now = raw<Date>('clock_timestamp()');
    const marked = await em.nativeUpdate(ApiKey, { id: keyId, revokedAt: null }, { revokedAt: now });
    const key = await em.findOne(ApiKey, { id: keyId });
    if (!key?.revokedAt) return null;
    if (marked > 0) {
      await recordAudit(inside, {
        actor,
        action: 'keys.revoke',
        subject: keyId,
        before: { revokedAt: null },
        after: { revokedAt: key.revokedAt },
        detail: { projectId: key.projectId },
      });
    }
    return { revokedAt: Math.floor(key.revokedAt.getTime() / 1_000), changed: marked > 0 };
  });

/** Waits for the admissions that have read the key, so that those after this transaction find it changed. */
const lockAccountOf = (inside: Transaction, keyId: string): Promise<unknown> =>
  inside.query('lock-account-of-key', 'select lock_accounts(array(select project_id from api_key where id = $1))', [
    keyId,
  ]);

/** Changes settings of a key under its lock. Spent and reserved credits do not change. */
export const updateKeyLimits = (
  database: Database,
  { keyId, changes, actor }: { keyId: string; changes: Partial<KeyLimits>; actor: string },
): Promise<{ before: KeyLimits; after: KeyLimits } | 'unknown' | 'revoked' | 'playground'> =>
  database.transaction('begin', async (_query, inside) => {
    const { ApiKey, LockMode } = await loadEntities();
    await lockAccountOf(inside, keyId);
    const em = await inside.entities();
    const key = await em.findOne(ApiKey, { id: keyId }, { lockMode: LockMode.PESSIMISTIC_WRITE });
    if (!key) return 'unknown';
    if (key.revokedAt) return 'revoked';
    const row = await inside.first<{ found: boolean }>(
      'is-key-of-playground',
      `select ${isOfPlayground} as found from api_key k where k.id = $1`,
      [keyId],
    );
    if (row?.found) return 'playground';
    const before = limitsOf(key);
    em.assign(key, changes);
    const after = limitsOf(key);
    await recordAudit(inside, {
      actor,
      action: 'keys.set',
      subject: keyId,
      ...changesOf(changes, before, after),
    });
    return { before, after };
  });

const limitsOf = (key: InferEntity<typeof ApiKey>): KeyLimits => ({
  name: key.name,
  metadata: key.metadata,
  scopes: key.scopes,
  ipRanges: key.ipRanges ?? null,
  models: key.models ?? null,
  rpm: key.rpm ?? null,
  budget: key.budget ?? null,
  budgetDaily: key.budgetDaily ?? null,
  budgetMonthly: key.budgetMonthly ?? null,
  inFlightMax: key.inFlightMax ?? null,
  expiresAt: key.expiresAt ?? null,
});
