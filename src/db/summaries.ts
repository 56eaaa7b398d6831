import type { Database } from './database.ts';
import { longValue } from './long-transaction.ts';
import { unixSeconds } from './unix-seconds.ts';

export interface RebuiltMonth {
  /** `YYYY-MM`, UTC. */
  month: string;
  /** `frozen`: rebuilt for the last time. `frozen_before`: another process had frozen the month, so nothing changed. */
  state: 'rebuilt' | 'frozen' | 'frozen_before';
}

/** The UTC months from the first ledger entry to now that are not frozen yet, oldest first. */
export async function listOpenMonths(database: Database): Promise<string[]> {
  const rows = await database.query<{ month: string }>(
    'open-months',
    `select begun.month from (
       select to_char(first_day, 'YYYY-MM') as month
       from generate_series(
         (select date_trunc('month', created_at at time zone 'UTC') from ledger_entry order by id limit 1),
         clock_timestamp() at time zone 'UTC', interval '1 month') as first_day) begun
     where not exists (select from summary_month s where s.month = begun.month and s.frozen_at is not null)
     order by 1`,
  );
  return rows.map(({ month }) => month);
}

/**
 * Rebuilds one month from the ledger and the attempts (rules "Jobs and retention"), unless it is frozen. A second call gives
 * the same rows. Entries younger than `lagSeconds` are left for the next call.
 */
export async function rebuildMonth(
  database: Database,
  given: { month: string; creditValueMicroUsd: number; lagSeconds: number; freezeAfterDays: number },
): Promise<RebuiltMonth> {
  const { month, creditValueMicroUsd, lagSeconds, freezeAfterDays } = given;
  const values = [month, creditValueMicroUsd, lagSeconds, freezeAfterDays];
  return { month, state: await longValue<RebuiltMonth['state']>(database, 'rebuild_summary', values) };
}

export interface SummaryRow {
  projectId: string;
  /** Empty for credits that belong to no model. */
  model: string;
  channelId: string;
  /** The current name of the channel; null if the channel was deleted or there was none. */
  channel: string | null;
  requests: number;
  successes: number;
  failures: number;
  creditsCharged: number;
  costMicroUsd: number;
  marginMicroUsd: number;
  inputTokens: number;
  outputTokens: number;
}

export interface MonthlySummary {
  month: string;
  /** Unix seconds. */
  builtAt: number;
  /** Unix seconds; null while the month is rebuilt every day. */
  frozenAt: number | null;
  creditValueMicroUsd: number;
  rows: SummaryRow[];
}

/** A month as it was last built; null if it never was. */
export async function readSummary(database: Database, month: string): Promise<MonthlySummary | null> {
  return database.transaction('begin isolation level repeatable read read only', async (query) => {
    const [about] = await query<Omit<MonthlySummary, 'rows'>>(
      'summary-month',
      `select month, ${unixSeconds('built_at')} as built_at,
         ${unixSeconds('frozen_at')} as frozen_at, credit_value_micro_usd
       from summary_month where month = $1`,
      [month],
    );
    if (!about) return null;
    const rows = await query<SummaryRow>(
      'summary-rows',
      `select s.project_id, s.model_id as model, s.channel_id, c.name as channel, s.requests, s.successes, s.failures,
         s.credits_charged, s.cost_micro_usd, s.margin_micro_usd, s.input_tokens, s.output_tokens
       from monthly_summary s left join channel c on c.id = s.channel_id
       where s.month = $1 order by s.project_id, s.model_id, s.channel_id`,
      [month],
    );
    return { ...about, rows };
  });
}
