import { tokenColumns } from '../../domain/catalog/token-counts.ts';
import type { Page } from '../../domain/page.ts';
import { newestPosition } from '../../domain/time-position.ts';
import { boughtCost } from '../tasks/attempt-details.ts';
import type { Database } from '../database.ts';
import {
  operatorPageText,
  rowsMaxIfCut,
  sortedBy,
  sortedPageOf,
  type ListRequest,
  type SortedRow,
} from '../list-order.ts';
import {
  endedChat,
  gaveBackUndelivered,
  isEndOfRequest,
  runningChat,
  unknownCostsOfChat,
  withCalls,
} from '../chat/chats.ts';
import { findChannelId, listNewestRequests, requestColumns, requestFilterShape, withTask } from './list-requests.ts';
import type { RequestFilter, RequestView } from './request-filter.ts';
import { idRange, matchesEnded, matchesRunning, mayRun } from './match-requests.ts';

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
  const criteria = { ...filter, createdFrom, createdBefore };
  if (sort === 'newest') return listNewestRequests(database, criteria, request);
  return sortedRequests(database, criteria, { ...request, sort });
}

async function sortedRequests(
  database: Database,
  filter: RequestFilter,
  request: ListRequest & { sort: string },
): Promise<Page<RequestView>> {
  const channel = filter.channel === undefined ? undefined : await findChannelId(database, filter.channel);
  if (channel === null) return { items: [], next: null };
  const criteria = { ...filter, channel };
  const values: unknown[] = [];
  const bind = (value: unknown): string => `$${values.push(value)}`;
  const range = idRange(criteria, newestPosition, bind).join(' and ');
  const ended = [
    range,
    ...(criteria.projectId === undefined ? [] : [`e.project_id = ${bind(criteria.projectId)}`]),
    ...(criteria.keyId === undefined ? [] : [`e.key_id = ${bind(criteria.keyId)}`]),
    ...matchesEnded(criteria, bind),
  ].join(' and ');
  const running = mayRun(criteria) ? matchesRunning(criteria, bind).join(' and ') : 'false';
  const { value, isBehind, order, position, rowsMax } = sortedBy(requestSortColumns, request, bind);
  const rows = await database.query<RequestView & SortedRow>(
    `sorted-requests-${request.sort}-${requestFilterShape(criteria)}`,
    operatorPageText(`
      with page as materialized (
        select value, id from (
          select ${value} as value, chat.request_id as id
          from (select ${endedChat} from ledger_entry e where ${ended} limit ${rowsMax}) chat ${withNames}
          union all
          select ${value}, chat.request_id from (select ${runningChat} from hold h where ${running}) chat ${withNames}) scanned
        where ${isBehind('value', 'id')} order by ${order('value', 'id')} limit ${bind(request.limit + 1)}::int)
      select ${requestColumns}, ${position('page.value', 'page.id')} as position,
        ${rowsMaxIfCut(`from ledger_entry e where ${ended}`, rowsMax, `(select max(e.id) - min(e.id) from ledger_entry e where ${range}) >= ${rowsMax}`)}
      from page cross join lateral (
        select * from (
          select ${endedChat} from ledger_entry e where e.request_id = page.id and ${isEndOfRequest}
          union all
          select ${runningChat} from hold h where h.id = page.id) found
        order by found.ended nulls last limit 1) chat ${withCalls} ${withTask}
      order by ${order('page.value', 'page.id')}`),
    values,
  );
  return sortedPageOf(rows, request.limit);
}

/** PostgreSQL leaves out the joins that no column needs. */
const withNames = `left join project named_project on named_project.id = chat.project_id left join api_key named_key on named_key.id = chat.key_id`;

const isCharged = `chat.outcome in ('succeeded', 'incomplete')`;
const charged = (column: string): string => `case when ${isCharged} then chat.${column} end`;

/** The columns of the list of chats that it can be sorted by. `credits` are those that were charged. */
export const chatSortColumns = {
  request_id: 'chat.request_id',
  project_id: 'chat.project_id',
  key_id: 'chat.key_id',
  model: 'chat.model_id',
  outcome: 'chat.outcome',
  reason: {
    text: `coalesce(chat.reason, (
    select 'not_delivered' from ledger_entry a where a.request_id = chat.request_id and ${gaveBackUndelivered('a')} limit 1))`,
    slow: true,
  },
  ...Object.fromEntries(tokenColumns.map((column) => [column, { number: charged(column) }])),
  usage_estimated: { number: 'coalesce(chat.usage_estimated, false)::int' },
  credits: { number: 'chat.charged' },
  'credits.reserved': { number: 'chat.held' },
  'credits.charged': { number: 'chat.charged' },
  'credits.refunded': {
    number: `case when chat.outcome = 'refunded' then chat.held else coalesce((
    select sum(a.credits) from ledger_entry a where a.request_id = chat.request_id and a.kind = 'adjust'), 0) end`,
    slow: true,
  },
  cost_micro_usd: {
    number: `coalesce(chat.cost_micro_usd, (
    select sum(${boughtCost}) from attempt a where a.request_id = chat.request_id), 0)`,
    slow: true,
  },
  unknown_costs: { number: unknownCostsOfChat, slow: true },
  created_at: { time: 'chat.started' },
  ended_at: { time: 'chat.ended' },
  took_ms: { span: 'chat.ended - chat.started' },
} as const;

const ofTask = (value: string): string =>
  `case when chat.request_id like 'task\\_%' then coalesce((select ${value} from task t where t.id = chat.request_id)`;

/** The columns of the list of requests of all types that it can be sorted by. */
export const requestSortColumns = {
  ...chatSortColumns,
  request_id: `${ofTask('t.request_id')}, chat.request_id) else chat.request_id end`,
  task_id: `case when chat.request_id like 'task\\_%' then chat.request_id end`,
  type: `${ofTask('t.type')}, (select m.entry ->> 'type' from model m where m.id = chat.model_id)) else 'chat' end`,
  project_name: 'named_project.name',
  key_name: 'named_key.name',
} as const;
