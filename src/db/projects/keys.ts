import { LockMode, raw, type EntityManager } from '@mikro-orm/postgresql';
import type { Page, PageRequest } from '../../domain/page.ts';
import type { Scope } from '../../domain/projects/scope.ts';
import type { Database } from '../database.ts';
import { ApiKey } from '../entities/api-key.ts';
import { byTime, operatorPageText, pageOfRows, type ListOrder, type Positioned } from '../time-order.ts';
import { isOfPlayground } from './playground-keys.ts';
import { positionOf } from '../time-position-sql.ts';
import { unixSeconds } from '../unix-seconds.ts';

export const keyStates = ['active', 'expired', 'revoked'] as const;
export type KeyState = (typeof keyStates)[number];

export interface KeyRow {
  keyId: string;
  projectId: string;
  name: string;
  metadata: Record<string, string>;
  /** A key of the playground of the console. Its limits and its secret cannot be changed. */
  playground: boolean;
  state: KeyState;
  /** The first characters of the newest secret. The secret itself is not stored. */
  prefix: string | null;
  last4: string | null;
  scopes: Scope[];
  ipRanges: string[] | null;
  models: string[] | null;
  rpm: number | null;
  inFlightMax: number | null;
  inFlight: number;
  budget: number | null;
  spent: number;
  reserved: number;
  budgetDaily: number | null;
  /** Spent and reserved by the requests of this day, UTC. */
  usedToday: number;
  budgetMonthly: number | null;
  usedThisMonth: number;
  expiresAt: number | null;
  revokedAt: number | null;
  lastUsedAt: number | null;
  createdAt: number;
}

export interface KeyFilter {
  projectId?: string | undefined;
  state?: KeyState | undefined;
  sort: ListOrder;
}

/** One page of the keys, by the time of their creation (`timePosition`). */
export async function listKeys(
  database: Database,
  { projectId, state, sort }: KeyFilter,
  { limit, after }: PageRequest,
): Promise<Page<KeyRow>> {
  const { from, order, values } = byTime('k', sort, after);
  const rows = await database.query<KeyRow & Positioned>(
    `operator-keys-${sort}`,
    operatorPageText(`select ${positionOf('k')} as position, k.id as key_id, k.project_id, k.name, k.metadata,
       ${isOfPlayground} as playground, ${stateOfKey} as state,
       s.prefix, s.last4, k.scopes, k.ip_ranges, k.models, k.rpm, k.in_flight_max, k.in_flight, k.budget, k.spent, k.reserved,
       k.budget_daily, in_period(k.day_spent + k.day_reserved, k.used_on, now.day) as used_today,
       k.budget_monthly, in_period(k.month_spent + k.month_reserved, k.used_on, now.month) as used_this_month,
       ${unixSeconds('k.expires_at')} as expires_at, ${unixSeconds('k.revoked_at')} as revoked_at,
       ${unixSeconds('k.last_used_at')} as last_used_at, ${unixSeconds('k.created_at')} as created_at
     from api_key k left join lateral (
       select prefix, last4 from api_key_secret where key_id = k.id order by created_at desc, id desc limit 1
     ) s on true
     cross join (select day, date_trunc('month', day::timestamp)::date as month
                 from (select (clock_timestamp() at time zone 'UTC')::date as day) today) now
     where ${from} and ($3::text is null or k.project_id = $3) and ($4::text is null or ${stateOfKey} = $4)
     order by ${order} limit $5`),
    [...values, projectId ?? null, state ?? null, limit + 1],
  );
  return pageOfRows(rows, limit);
}

const stateOfKey = `case when k.revoked_at is not null then 'revoked' when k.expires_at <= clock_timestamp() then 'expired'
  else 'active' end`;

/** Marks a key as revoked, once; null if there is no such key. Admission reads the mark, so it takes effect immediately. */
export async function markKeyRevoked(
  em: EntityManager,
  keyId: string,
): Promise<{ projectId: string; revokedAt: Date; changed: boolean } | null> {
  await lockAccountOf(em, keyId);
  const now = raw<Date>('clock_timestamp()');
  const marked = await em.nativeUpdate(ApiKey, { id: keyId, revokedAt: null }, { revokedAt: now });
  const key = await em.findOne(ApiKey, { id: keyId });
  return key?.revokedAt ? { projectId: key.projectId, revokedAt: key.revokedAt, changed: marked > 0 } : null;
}

/** Waits for the admissions that have read the key, so that those after this transaction find it changed. */
const lockAccountOf = (em: EntityManager, keyId: string): Promise<unknown> =>
  em.execute('select lock_accounts(array(select project_id from api_key where id = ?))', [keyId]);

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

/** Changes the given settings of a key under its lock. Spent and reserved credits do not change. */
export async function updateKeyLimits(
  em: EntityManager,
  keyId: string,
  given: Partial<KeyLimits>,
): Promise<{ before: KeyLimits; after: KeyLimits } | 'unknown' | 'revoked' | 'playground'> {
  await lockAccountOf(em, keyId);
  const key = await em.findOne(ApiKey, { id: keyId }, { lockMode: LockMode.PESSIMISTIC_WRITE });
  if (!key) return 'unknown';
  if (key.revokedAt) return 'revoked';
  const [row] = await em.execute<{ found: boolean }[]>(
    `select ${isOfPlayground} as found from api_key k where k.id = ?`,
    [keyId],
  );
  if (row?.found) return 'playground';
  const limits = (): KeyLimits => ({
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
  const before = limits();
  em.assign(key, given);
  return { before, after: limits() };
}
