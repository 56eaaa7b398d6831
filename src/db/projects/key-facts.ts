import type { Database } from '../database.ts';
import { leftOfGrants, type Expiring } from '../ledger/grants.ts';
import { isLowBalance } from '../ledger/low-balance.ts';
import { unixSeconds } from '../unix-seconds.ts';
import type { KeyAllowance } from './keys.ts';

export interface KeyFacts extends KeyAllowance {
  /** POST requests of the last 60 seconds; counted only for a key with a limit. */
  requests: number;
  daySpent: number;
  dayReserved: number;
  monthSpent: number;
  monthReserved: number;
  /** Unix seconds: when the next day and the next month begin, UTC. */
  nextDay: number;
  nextMonth: number;
  /** Of the project. */
  balance: number;
  balanceReserved: number;
  overdraft: number;
  /** The grant that ends first is before the others. */
  expiring: Expiring[];
  isLow: boolean;
}

/** What a key may do and has left at this moment. Throws if there is no such key, because the caller was authenticated by it. */
export async function readKeyFacts(database: Database, keyId: string): Promise<KeyFacts> {
  const facts = await database.first<KeyFacts>(
    'key-facts',
    `select k.id as key_id, k.project_id, k.name, k.metadata, k.scopes, k.models, ${unixSeconds('k.expires_at')} as expires_at,
       k.rpm, case when k.rpm is null then 0 else recent_requests(k.id) end as requests, k.in_flight_max, k.in_flight, k.budget, k.spent, k.reserved,
       k.budget_daily, in_period(k.day_spent, k.used_on, today) as day_spent,
       in_period(k.day_reserved, k.used_on, today) as day_reserved,
       k.budget_monthly, in_period(k.month_spent, k.used_on, month) as month_spent,
       in_period(k.month_reserved, k.used_on, month) as month_reserved,
       ${unixSeconds(`(today + 1)::timestamp at time zone 'UTC'`)} as next_day,
       ${unixSeconds(`(month + interval '1 month') at time zone 'UTC'`)} as next_month,
       a.balance - grants.ended as balance, a.reserved as balance_reserved, a.overdraft, grants.expiring, ${isLowBalance} as is_low
     from api_key k join credit_account a on a.project_id = k.project_id
     cross join lateral (${leftOfGrants('a')}) grants
     cross join (select today, date_trunc('month', today::timestamp)::date as month
                 from (select (clock_timestamp() at time zone 'UTC')::date as today) clock) at
     where k.id = $1`,
    [keyId],
  );
  if (!facts) throw new Error(`there is no key ${keyId}`);
  return facts;
}
