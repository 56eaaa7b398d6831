import { partList, type TokenCounts } from '../../domain/catalog/token-counts.ts';
import type { ChatEndReason } from '../../domain/chat/chat-end-reason.ts';
import { boughtCost, unknownCost } from '../tasks/attempt-details.ts';
import type { Database } from '../database.ts';
import { unixSeconds } from '../unix-seconds.ts';

/**
 * `running`: its credits are held. `succeeded`: it was charged for a whole answer. `incomplete`: it was charged for what came of an answer,
 * perhaps nothing for an empty one. `refunded`: its hold was given back.
 */
export const chatOutcomes = ['running', 'succeeded', 'incomplete', 'refunded'] as const;
export type ChatOutcome = (typeof chatOutcomes)[number];

/**
 * A chat whose credits were held, without its content, which is never stored. Times are unix seconds. Counts are null unless it was charged; those
 * of parts also for what an earlier release charged.
 */
export interface ChatView extends TokenCounts<number | null> {
  requestId: string;
  projectId: string;
  keyId: string;
  modelId: string;
  outcome: ChatOutcome;
  /** Null for a whole answer that was delivered, for a chat that runs, and for what an earlier release ended. */
  reason: ChatEndReason | null;
  /** The names of the channels that were called, in order. Only the last one is known once the rows of the calls are deleted. */
  channels: string[];
  usageEstimated: boolean;
  creditsHeld: number;
  creditsCharged: number;
  /** By adjustments after the charge. */
  creditsGivenBack: number;
  costMicroUsd: number;
  /** The ended calls whose cost is unknown, which are not in `costMicroUsd`. */
  unknownCosts: number;
  startedAt: number;
  /** Null while it runs. */
  endedAt: number | null;
  tookMs: number | null;
  /** While it runs: when its hold is refunded if it is not ended before. */
  expiresAt: number | null;
}

/** SQL for running requests: rows of `hold h`, in the form of `endedChat`. */
export const runningChat = `h.id as request_id, h.project_id, h.key_id, h.model_id, 'running' as outcome, null::text as reason,
  h.channel_id, h.channel_name, null::bigint as input_tokens, null::bigint as output_tokens,
  ${partList((column) => `null::bigint as ${column}`)}, null::boolean as usage_estimated,
  h.amount as held, 0::bigint as charged, 0::bigint as cost_micro_usd, h.created_at as started, null::timestamptz as ended, h.expires_at as expires`;

/** SQL for requests that have ended: rows of `ledger_entry e` that `isEndOfRequest`. */
export const endedChat = `e.request_id, e.project_id, e.key_id, e.model_id, case when e.kind = 'refund' then 'refunded' when e.reason is null then 'succeeded' else 'incomplete' end as outcome,
  e.reason, e.channel_id, null::text as channel_name, e.input_tokens, e.output_tokens,
  ${partList((column) => `e.${column}`)}, e.usage_estimated,
  e.held, -e.credits as charged, e.cost_micro_usd, e.began_at as started, e.created_at as ended, null::timestamptz as expires`;

/** Rows of `ledger_entry e` that end a request. */
export const isEndOfRequest = `e.kind in ('settle', 'refund')`;
/** Tasks have entries of the same kinds. */
const isEndOfChat = `${isEndOfRequest} and e.request_id not like 'task\\_%'`;

/**
 * SQL for the columns of `ChatView`, except `request_id`, from rows of `chat`, which are `runningChat` or `endedChat`. The calls are in `attempt`
 * unless the only one succeeded.
 */
export const chatColumns = `chat.project_id, chat.key_id, chat.model_id, chat.outcome,
  coalesce(chat.reason, case when adjusted.undelivered then 'not_delivered' end) as reason,
  coalesce(calls.channels, array_remove(array[coalesce(chat.channel_name, (select c.name from channel c where c.id = chat.channel_id), chat.channel_id)], null))
    as channels,
  chat.input_tokens, chat.output_tokens, ${partList((column) => `chat.${column}`)},
  coalesce(chat.usage_estimated, false) as usage_estimated,
  chat.held as credits_held, (chat.charged + adjusted.taken)::float8 as credits_charged, adjusted.returned::float8 as credits_given_back,
  coalesce(chat.cost_micro_usd, calls.cost, 0)::float8 as cost_micro_usd,
  -- The rows of old calls are deleted. A task that has none made no call.
  case when calls.channels is null and chat.cost_micro_usd is null then (not exists (select from task where task.id = chat.request_id))::int
    else calls.unknown_costs end as unknown_costs,
  ${unixSeconds('chat.started')} as started_at, ${unixSeconds('chat.ended')} as ended_at, ${unixSeconds('chat.expires')} as expires_at,
  round(extract(epoch from chat.ended - chat.started) * 1000)::float8 as took_ms`;
/** SQL for the column of that name, where the calls are not joined. */
export const unknownCostsOfChat = `(
    select case when count(*) = 0 and chat.cost_micro_usd is null then (not exists (select from task where task.id = chat.request_id))::int
      else count(*) filter (where (chat.ended is not null or outcome is not null) and ${unknownCost}) end
    from attempt a where a.request_id = chat.request_id)`;
/** The reasons of adjustments that only the gateway makes (`return_chat.sql`). The second one is that of 0.2.0. */
export const undeliveredReasons: readonly string[] = ['not_delivered', 'the answer was not delivered'];
/** Whether an adjustment gave back the charge of an answer that was not delivered. */
export const gaveBackUndelivered = (row: string): string =>
  `(${row}.kind = 'adjust' and ${row}.request_id not like 'task\\_%' and ${row}.reason in ('${undeliveredReasons.join("', '")}'))`;
export const withCalls = `left join lateral (
    select array_agg(a.channel_name order by a.n) as channels, sum(${boughtCost}) as cost,
      (count(*) filter (where (chat.ended is not null or outcome is not null) and ${unknownCost}))::int as unknown_costs from attempt a
    where a.request_id = chat.request_id) calls on true
  -- An adopted result is charged by an adjustment.
  cross join lateral (
    select coalesce(sum(a.credits) filter (where a.credits > 0), 0) as returned, coalesce(-sum(a.credits) filter (where a.credits < 0), 0) as taken,
      bool_or(${gaveBackUndelivered('a')}) as undelivered
    from ledger_entry a where a.request_id = chat.request_id and a.kind = 'adjust') adjusted`;

/** The chat of a request; null if its credits were never held. */
export async function findChat(database: Database, requestId: string): Promise<ChatView | null> {
  const [row] = await database.query<ChatView>(
    'find-chat',
    `select chat.request_id, ${chatColumns}
     from (select ${endedChat} from ledger_entry e where e.request_id = $1 and ${isEndOfChat}
           union all
           select ${runningChat} from hold h where h.id = $1 and h.kind = 'chat') chat ${withCalls}
     -- Its end counts, should it end meanwhile.
     order by chat.ended nulls last limit 1`,
    [requestId],
  );
  return row ?? null;
}
