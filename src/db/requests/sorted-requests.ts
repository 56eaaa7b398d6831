import type { Page } from '../../domain/page.ts';
import { newestPosition } from '../../domain/time-position.ts';
import { boughtCost } from '../tasks/attempt-details.ts';
import type { Database } from '../database.ts';
import {
  isDescending,
  operatorPageText,
  SORTED_MAX,
  sortedPageOf,
  sortedPositionOf,
  sortedStart,
  sortValue,
  type ListRequest,
  type Positioned,
} from '../list-order.ts';
import { unixSeconds } from '../unix-seconds.ts';
import { endedChat, isEndOfRequest, runningChat, unknownCostsOfChat, withCalls } from '../chat/chats.ts';
import { findChannelId, listNewestRequests, requestColumns, requestFilterShape, withTask } from './list-requests.ts';
import type { RequestFilter, RequestView } from './request-filter.ts';
import { idRange, matchesEnded, matchesRunning, mayRun } from './request-conditions.ts';

/**
 * One page of the requests of all projects, for operators. Newest first, those that run are before the others. They are in another table, so
 * the oldest of both are found as by any column.
 */
export async function listRequests(
  database: Database,
  filter: Omit<RequestFilter, 'createdFrom' | 'createdBefore'>,
  request: ListRequest,
): Promise<Page<RequestView>> {
  const { createdFrom, createdBefore, sort = 'newest' } = request;
  const asked = { ...filter, createdFrom, createdBefore };
  if (sort === 'newest') return listNewestRequests(database, asked, request);
  return sortedRequests(database, asked, { ...request, sort });
}

async function sortedRequests(
  database: Database,
  filter: RequestFilter,
  request: ListRequest & { sort: string },
): Promise<Page<RequestView>> {
  const channel = filter.channel === undefined ? undefined : await findChannelId(database, filter.channel);
  if (channel === null) return { items: [], next: null };
  const asked = { ...filter, channel };
  const { sort, limit } = request;
  const values: unknown[] = [];
  const bind = (value: unknown): string => `$${values.push(value)}`;
  const { projectId, keyId } = asked;
  const ended = [
    ...idRange(asked, newestPosition, bind),
    ...(projectId === undefined ? [] : [`e.project_id = ${bind(projectId)}`]),
    ...(keyId === undefined ? [] : [`e.key_id = ${bind(keyId)}`]),
    ...matchesEnded(asked, bind),
  ];
  const running = mayRun(asked) ? matchesRunning(asked, bind) : ['false'];
  const value = sortValue(requestSortColumns, sort);
  const direction = isDescending(sort) ? 'desc' : 'asc';
  const rows = await database.query<RequestView & Positioned & { scanned: number }>(
    `sorted-requests-${sort}-${requestFilterShape(asked)}`,
    operatorPageText(`
      with scanned as materialized (
        (select ${value} as value, chat.request_id as id
         from (select ${endedChat} from ledger_entry e where ${ended.join(' and ')} limit ${SORTED_MAX + 1}) chat)
        union all
        (select ${value}, chat.request_id from (select ${runningChat} from hold h where ${running.join(' and ')}) chat)),
      page as materialized (
        select value, id from scanned where (value, id) ${isDescending(sort) ? '<' : '>'} (${sortedStart(request, bind)})
        order by value ${direction}, id ${direction} limit ${bind(limit + 1)}::int)
      select ${requestColumns}, ${sortedPositionOf(bind(sort), 'page.value', 'page.id')} as position, (select count(*) from scanned)::int as scanned
      from page cross join lateral (
        select * from (
          select ${endedChat} from ledger_entry e where e.request_id = page.id and ${isEndOfRequest}
          union all
          select ${runningChat} from hold h where h.id = page.id) found
        order by found.ended nulls last limit 1) chat ${withCalls} ${withTask}
      order by page.value ${direction}, page.id ${direction}`),
    values,
  );
  return sortedPageOf(rows, limit);
}

const isCharged = `chat.outcome in ('succeeded', 'incomplete')`;
const charged = (column: string): string => `case when ${isCharged} then chat.${column} end`;

/** The columns of the list of chats that it can be sorted by. `credits` are those that were charged. */
export const chatSortColumns = {
  request_id: 'chat.request_id',
  project_id: 'chat.project_id',
  key_id: 'chat.key_id',
  model: 'chat.model_id',
  outcome: 'chat.outcome',
  reason: 'chat.reason',
  input_tokens: charged('input_tokens'),
  output_tokens: charged('output_tokens'),
  cached_input_tokens: charged('cached_input_tokens'),
  cache_write_tokens: charged('cache_write_tokens'),
  cache_write_1h_tokens: charged('cache_write_1h_tokens'),
  reasoning_tokens: charged('reasoning_tokens'),
  usage_estimated: 'coalesce(chat.usage_estimated, false)',
  credits: 'chat.charged',
  'credits.reserved': 'chat.held',
  'credits.charged': 'chat.charged',
  'credits.refunded': `case when chat.outcome = 'refunded' then chat.held else coalesce((
    select sum(a.credits) from ledger_entry a where a.request_id = chat.request_id and a.kind = 'adjust'), 0) end`,
  cost_micro_usd: `coalesce(chat.cost_micro_usd, (
    select sum(${boughtCost}) from attempt a where a.request_id = chat.request_id), 0)`,
  unknown_costs: unknownCostsOfChat,
  created_at: unixSeconds('chat.started'),
  ended_at: unixSeconds('chat.ended'),
  took_ms: 'round(extract(epoch from chat.ended - chat.started) * 1000)',
} as const;

const ofTask = (value: string): string =>
  `case when chat.request_id like 'task\\_%' then coalesce((select ${value} from task t where t.id = chat.request_id)`;

/** The columns of the list of requests of all types that it can be sorted by. */
export const requestSortColumns = {
  ...chatSortColumns,
  request_id: `${ofTask('t.request_id')}, chat.request_id) else chat.request_id end`,
  task_id: `case when chat.request_id like 'task\\_%' then chat.request_id end`,
  type: `${ofTask('t.type')}, (select m.entry ->> 'type' from model m where m.id = chat.model_id)) else 'chat' end`,
  project_name: `(select p.name from project p where p.id = chat.project_id)`,
  key_name: `(select k.name from api_key k where k.id = chat.key_id)`,
} as const;
