import type { JsonObject } from '../../domain/json.ts';
import type { ErrorClass, RecordedOutcome } from '../../domain/channels/upstream.ts';
import type { Database } from '../database.ts';
import { unixSeconds } from '../unix-seconds.ts';

export interface AttemptDetail {
  n: number;
  channel: string;
  outcome: RecordedOutcome | null;
  errorClass: string | null;
  status: number | null;
  detail: string | null;
  code: string | null;
  operation: JsonObject | null;
  /** Our cost of the call by the catalog, in millionths of a dollar; 0 if it bought nothing. */
  costMicroUsd: number;
  /** The cost of the call is unknown and not in `costMicroUsd`. */
  costUnknown: boolean;
  startedAt: number;
  submittedAt: number | null;
  endedAt: number | null;
  /** Milliseconds from the start of the call to its end, and to the end of its task if that was first. */
  tookMs: number | null;
  /** Set while the job is parked: the poller asks the provider then. */
  nextPollAt: number | null;
}

/** SQL for the cost of a call, and whether it is unknown once its request has ended (`sql/functions/has_unknown_cost.sql`). */
export const boughtCost = `bought_cost(outcome, operation, cost_micro_usd)::float8`;
export const unknownCost = `has_unknown_cost(request_id, outcome, error_class, operation, cost_micro_usd)`;

/**
 * A task may end while a call runs, at its deadline or by an operator, and the attempt's row may never be ended. An accepted job then
 * counts as canceled, and any other call as unknown. The row itself does not change, because its answer may still arrive.
 */
const fromAttempts = `from (select a.*, coalesce(a.ended_at, t.completed_at) as over_at,
                         case when a.outcome is not null or t.completed_at is null then a.outcome
                              when a.operation is not null then 'canceled' else 'unknown' end as shown_outcome
                       from attempt a left join task t on t.id = a.request_id) a
                      where request_id = $1 order by n limit 500`;

/** The calls made for a task, in order, with the upstream's messages: for operators, never for clients. */
export async function listAttemptDetails(database: Database, taskId: string): Promise<AttemptDetail[]> {
  return database.query<AttemptDetail>(
    'operator-attempts',
    `select n, channel_name as channel, shown_outcome as outcome, error_class, status, detail, code, operation,
       ${boughtCost} as cost_micro_usd, shown_outcome is not null and ${unknownCost} as cost_unknown, ${unixSeconds('started_at')} as started_at, ${unixSeconds('submitted_at')} as submitted_at,
       ${unixSeconds('over_at')} as ended_at, round(extract(epoch from over_at - started_at) * 1000)::float8 as took_ms, case when shown_outcome is null then ${unixSeconds('next_poll_at')} end as next_poll_at
     ${fromAttempts}`,
    [taskId],
  );
}

/** A call made for a task, without the channel and the upstream's messages. */
export interface AttemptFacts extends Pick<
  AttemptDetail,
  'n' | 'outcome' | 'status' | 'startedAt' | 'submittedAt' | 'endedAt'
> {
  id: string;
  errorClass: ErrorClass | null;
}

/** The calls made for a task, in order. */
export async function listAttemptFacts(database: Database, taskId: string): Promise<AttemptFacts[]> {
  return database.query<AttemptFacts>(
    'task-attempts',
    `select id, n, shown_outcome as outcome, error_class, status, ${unixSeconds('started_at')} as started_at,
       ${unixSeconds('submitted_at')} as submitted_at, ${unixSeconds('over_at')} as ended_at ${fromAttempts}`,
    [taskId],
  );
}
