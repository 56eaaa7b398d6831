import type { Database } from '../database.ts';

/** A balance is low if it lasts for fewer days than this, by the average of the last seven. */
const lowDays = 3;

/**
 * What the project `a.project_id` was charged in the seven days before today (UTC), by the daily summaries. The days are given one by one,
 * so that the primary key leads to the rows of this project.
 */
const weekOf = `(select coalesce(sum(d.credits_charged), 0)::bigint from daily_summary d
  where d.project_id = a.project_id
    and d.day = any (array(select (clock_timestamp() at time zone 'UTC')::date - n from generate_series(1, 7) n)))`;

/** SQL: whether what the account `a` can hold is low, its overdraft included. Nothing is. */
export const isLowBalance = `(a.balance + a.overdraft) * 7 <= ${weekOf} * ${lowDays}`;

/** The active projects that have been charged in the last week and whose balance is low. */
export const listLowBalances = (database: Database): Promise<{ projectId: string; balance: number; week: number }[]> =>
  database.query(
    'list-low-balances',
    `select a.project_id, a.balance, ${weekOf} as week from credit_account a join project p on p.id = a.project_id and p.status = 'active'
     where a.project_id = any (array(
       select distinct d.project_id from daily_summary d
       where d.day >= (clock_timestamp() at time zone 'UTC')::date - 7 and d.credits_charged > 0)) and ${isLowBalance}
     order by a.project_id`,
  );
