import { partList, type TokenCounts } from '../../domain/catalog/token-counts.ts';
import type { Database } from '../database.ts';
import { longValue } from '../long-transaction.ts';
import { unixSeconds } from '../unix-seconds.ts';

export interface RebuiltMonth {
  /** `YYYY-MM`, UTC. */
  month: string;
  /** `frozen`: rebuilt for the last time. `frozen_before`: another process had frozen its last day, so nothing changed. */
  state: 'rebuilt' | 'frozen' | 'frozen_before';
}

/** The UTC days (`YYYY-MM-DD`) from the month of the first ledger entry to today that are not frozen yet, oldest first. */
export async function listOpenDays(database: Database): Promise<string[]> {
  const rows = await database.query<{ day: string }>(
    'open-days',
    `select to_char(begun.day, 'YYYY-MM-DD') as day
     from generate_series(
       (select date_trunc('month', created_at at time zone 'UTC') from ledger_entry order by id limit 1),
       clock_timestamp() at time zone 'UTC', interval '1 day') as begun (day)
     where not exists (select from summary_day s where s.day = begun.day::date and s.frozen_at is not null)
     order by 1`,
  );
  return rows.map(({ day }) => day);
}

/**
 * Rebuilds one day from the ledger and the attempts (rules "Jobs and retention"), unless it is frozen, and with it the sums of its
 * month. A second call gives the same rows. Entries younger than `lagSeconds` are left for the next call.
 */
export async function rebuildDay(
  database: Database,
  input: { day: string; creditValueMicroUsd: number; lagSeconds: number; freezeAfterDays: number },
): Promise<RebuiltMonth> {
  const { day, creditValueMicroUsd, lagSeconds, freezeAfterDays } = input;
  const values = [day, creditValueMicroUsd, lagSeconds, freezeAfterDays];
  const state = await longValue<RebuiltMonth['state']>(database, 'rebuild_summary', values);
  return { month: monthOf(day), state };
}

/** The month of a day, as `YYYY-MM`. */
export const monthOf = (day: string): string => day.slice(0, 7);

export interface SummaryRow extends TokenCounts {
  projectId: string;
  projectName: string;
  /** The name of the plan that the project has now; null if it has none. */
  plan: string | null;
  /** Empty for credits that belong to no model. */
  model: string;
  channelId: string;
  /** The current name of the channel; null if the channel was deleted or there was none. */
  channel: string | null;
  requests: number;
  successes: number;
  failures: number;
  /** The client left or canceled: `leftCharged` of them are among the successes, the others among the failures. */
  left: number;
  leftCharged: number;
  creditsCharged: number;
  costMicroUsd: number;
  /** Calls whose cost is unknown. */
  unknownCosts: number;
  marginMicroUsd: number;
}

export interface MonthlySummary {
  month: string;
  /** Unix seconds. */
  builtAt: number;
  /** Unix seconds; null while the month is rebuilt every day. */
  frozenAt: number | null;
  creditValueMicroUsd: number;
  /** Unix seconds from which on calls whose cost is unknown are counted; null if all of the month are. */
  unknownCostsFrom: number | null;
  rows: SummaryRow[];
}

/** A month as it was last built; null if it never was. */
export async function readSummary(database: Database, month: string): Promise<MonthlySummary | null> {
  return database.transaction('begin isolation level repeatable read read only', async (query) => {
    const [about] = await query<Omit<MonthlySummary, 'rows'>>(
      'summary-month',
      `select month, ${unixSeconds('built_at')} as built_at,
         ${unixSeconds('frozen_at')} as frozen_at, credit_value_micro_usd,
         (select ${unixSeconds('unknown_costs_from')} from installation
          where unknown_costs_from > (month || '-01')::timestamp at time zone 'UTC') as unknown_costs_from
       from summary_month where month = $1`,
      [month],
    );
    if (!about) return null;
    const rows = await query<SummaryRow>(
      'summary-rows',
      `select s.project_id, coalesce(p.name, '') as project_name, n.name as plan, s.model_id as model, s.channel_id, c.name as channel, s.requests, s.successes, s.failures,
         s.left_charged + s.left_refunded as "left", s.left_charged, s.credits_charged, s.cost_micro_usd, s.unknown_costs, s.margin_micro_usd, s.input_tokens, s.output_tokens,
         ${partList((column) => `s.${column}`)}
       from monthly_summary s left join channel c on c.id = s.channel_id
         left join project p on p.id = s.project_id left join plan n on n.id = p.plan_id
       where s.month = $1 order by s.project_id, s.model_id, s.channel_id`,
      [month],
    );
    return { ...about, rows };
  });
}
