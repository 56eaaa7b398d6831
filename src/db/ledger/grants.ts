import type { Database } from '../database.ts';
import { unixSeconds } from '../unix-seconds.ts';

/** What is left of a grant, and when it ends, in unix seconds. */
export interface Expiring {
  credits: number;
  expiresAt: number;
}

/**
 * SQL: of the account with this alias, `expiring`: what is left of its grants, the first end first; and `ended`: what is left of grants whose end
 * has come and that no process has ended yet. An account without grants calls nothing.
 */
export const leftOfGrants = (account: string): string => `
  select coalesce(sum(x.remaining) filter (where x.ends_at <= clock_timestamp()), 0)::bigint as ended,
    coalesce(jsonb_agg(jsonb_build_object('credits', x.remaining, 'expiresAt', ${unixSeconds('x.ends_at')}) order by x.ends_at, x.id)
      filter (where x.ends_at > clock_timestamp() and x.remaining > 0), '[]') as expiring
  from left_of_grants(${account}.project_id) x where ${account}.grant_mark is not null`;

/** SQL: the `ended` of `leftOfGrants` alone. */
export const endedOfGrants = (account: string): string => `
  select coalesce(sum(x.remaining), 0)::bigint as ended from left_of_grants(${account}.project_id) x
  where ${account}.grant_mark is not null and x.ends_at <= clock_timestamp()`;

/** Accounts whose grants are ended in one run. The next run continues. */
const accountsMax = 10_000;

/**
 * Takes what is left of grants out of their accounts when they end, each account in a transaction of its own. Repeated or interrupted, it takes
 * the same. Returns how many accounts had such grants, and the credits that left.
 */
export async function endDueGrants(database: Database): Promise<{ accounts: number; expired_credits: number }> {
  const due = await database.query<{ projectId: string }>(
    'list-due-grants',
    `select distinct project_id from credit_grant where not is_closed and ends_at <= clock_timestamp() limit $1`,
    [accountsMax],
  );
  let expired = 0;
  for (const { projectId } of due) {
    expired += await database.transaction('begin', async (_query, inside) => {
      await inside.query('lock-account', 'select lock_accounts(array[$1])', [projectId]);
      return inside.value<number>('expire_grants', [projectId]);
    });
  }
  return { accounts: due.length, expired_credits: expired };
}
