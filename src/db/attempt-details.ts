import type { JsonObject } from '../domain/json.ts';
import type { AttemptOutcome, ErrorClass } from '../domain/upstream.ts';
import type { Database } from './database.ts';
import { unixSeconds } from './unix-seconds.ts';

export interface AttemptDetail {
  n: number;
  channel: string;
  outcome: AttemptOutcome | 'canceled' | null;
  errorClass: string | null;
  status: number | null;
  detail: string | null;
  code: string | null;
  operation: JsonObject | null;
  /** What the call cost us by the catalog, in millionths of a dollar; 0 for one that bought nothing. */
  costMicroUsd: number;
  startedAt: number;
  submittedAt: number | null;
  endedAt: number | null;
}

// As the monthly summary counts it (`sql/functions/rebuild_summary.sql`): the row holds what the call would cost from its begin on.
const boughtCost = `case when outcome in ('ok', 'unknown') or (operation is not null and (outcome is null or outcome = 'canceled'))
                      then cost_micro_usd else 0 end::float8`;

/**
 * A task may be ended while a call runs, at its deadline or by an operator, and nobody need come back to end the row: an
 * accepted job was given up, of any other call we do not know. The row stays as it is, for an answer that still comes.
 */
const fromAttempts = `from (select a.*, coalesce(a.ended_at, t.completed_at) as over_at,
                         case when a.outcome is not null or t.completed_at is null then a.outcome
                              when a.operation is not null then 'canceled' else 'unknown' end as told
                       from attempt a left join task t on t.id = a.request_id) a
                      where request_id = $1 order by n limit 100`;

/** Every call made for one task, in order, with what the upstream said: for operators, never for clients. */
export async function listAttemptDetails(database: Database, taskId: string): Promise<AttemptDetail[]> {
  return database.query<AttemptDetail>(
    {
      name: 'operator-attempts',
      text: `select n, channel_name as channel, told as outcome, error_class, status, detail, code, operation,
               ${boughtCost} as cost_micro_usd, ${unixSeconds('started_at')} as started_at, ${unixSeconds('submitted_at')} as submitted_at,
               ${unixSeconds('over_at')} as ended_at ${fromAttempts}`,
    },
    [taskId],
  );
}

/** A call made for a task, as its client may see it: neither who was called nor what was said there. */
export interface AttemptFacts {
  id: string;
  n: number;
  outcome: AttemptOutcome | 'canceled' | null;
  errorClass: ErrorClass | null;
  status: number | null;
  startedAt: number;
  submittedAt: number | null;
  endedAt: number | null;
}

/** Every call made for one task, in order. */
export async function listAttemptFacts(database: Database, taskId: string): Promise<AttemptFacts[]> {
  return database.query<AttemptFacts>(
    {
      name: 'task-attempts',
      text: `select id, n, told as outcome, error_class, status, ${unixSeconds('started_at')} as started_at,
               ${unixSeconds('submitted_at')} as submitted_at, ${unixSeconds('over_at')} as ended_at ${fromAttempts}`,
    },
    [taskId],
  );
}
