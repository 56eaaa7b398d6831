import { deliveryStates, type DeliveryState } from '../../domain/callbacks/delivery-state.ts';
import type { Page, PageRequest } from '../../domain/page.ts';
import { newestPosition, readTimePosition } from '../../domain/time-position.ts';
import { boundedText, CLIENT_PAGE_BYTES_MAX } from '../bounded-page.ts';
import type { Database } from '../database.ts';
import {
  inTimeOrder,
  isByTime,
  operatorPageText,
  pageOfRows,
  sortedPageOf,
  sortedText,
  type ListRequest,
  type Positioned,
  type SortedRow,
} from '../list-order.ts';
import { positionOf, timeOfPosition } from '../time-position-sql.ts';
import { unixSeconds } from '../unix-seconds.ts';

/** One callback of a task. Times are unix seconds. */
export interface ListedDelivery {
  id: string;
  /** The `webhook-id` of all its tries. */
  eventId: string;
  state: DeliveryState;
  attempts: number;
  lastStatus: number | null;
  createdAt: number;
  endedAt: number | null;
  nextAttemptAt: number | null;
  tries: DeliveryTry[];
}

export interface DeliveryTry {
  n: number;
  startedAt: number;
  endedAt: number | null;
  /** Null if the receiver did not answer. */
  status: number | null;
  /** The class of the failure; null for a success. */
  error: string | null;
}

export interface DeliveryFilter {
  projectId?: string | undefined;
  taskId?: string | undefined;
  state?: DeliveryState | undefined;
  /** The host of the address, with its port if it has one. */
  host?: string | undefined;
}

export interface OperatorDelivery extends ListedDelivery {
  taskId: string;
  projectId: string;
  projectName: string;
  host: string | null;
}

/**
 * One page of all callbacks for operators. In the order of time, those that have ended are read for each asked state by an index, so a page
 * costs the same whatever the filter leaves out. Those that wait have an index of their own.
 */
export async function listAllDeliveries(
  database: Database,
  { projectId, taskId, state, host }: DeliveryFilter,
  request: ListRequest,
): Promise<Page<OperatorDelivery>> {
  const states = deliveryStates.filter((one) => state === undefined || one === state);
  const values: unknown[] = [states];
  const bind = (value: unknown): string => `$${values.push(value)}`;
  const ofProject = projectId === undefined ? '' : `and d.project_id = ${bind(projectId)}`;
  const ofTask = taskId === undefined ? '' : `and d.task_id = ${bind(taskId)}`;
  const ofHost = host === undefined ? '' : `and ${hostOfDelivery} = ${bind(host.toLowerCase())}`;
  const { sort = 'newest' } = request;
  const name = `list-deliveries-${sort}${projectId === undefined ? '' : '-of-project'}${taskId === undefined ? '' : '-of-task'}${host === undefined ? '' : '-of-host'}`;
  if (!isByTime(sort)) {
    const match = `d.state = any ($1::text[]) ${ofProject} ${ofTask} ${ofHost}`;
    const text = sortedText({ ...deliveryRows, match, select: columnsForOperators }, { ...request, sort }, bind);
    const sorted = await database.query<OperatorDelivery & SortedRow>(name, text, values);
    return sortedPageOf(sorted, request.limit);
  }
  const { where, order, position } = inTimeOrder(deliveryRows, { ...request, sort }, bind);
  const most = bind(request.limit + 1);
  const inPage = `${where} ${ofProject} ${ofHost} order by ${order} limit ${most}::int`;
  const found =
    taskId === undefined && host === undefined
      ? `(select d.created_at, d.id from delivery d where 'pending' = any ($1::text[]) and d.ended_at is null and ${inPage})
         union all
         (select ended.created_at, ended.id from unnest($1::text[]) of_state cross join lateral (
            select d.created_at, d.id from delivery d where d.ended_at is not null and d.state = of_state and ${inPage}) ended)`
      : `select d.created_at, d.id from delivery d where d.state = any ($1::text[]) ${ofTask} and ${inPage}`;
  const rows = await database.query<OperatorDelivery & Positioned>(
    name,
    operatorPageText(
      `select ${columnsForOperators}, ${position} as position
     from (select d.id from (${found}) d order by ${order} limit ${most}::int) page
     cross join lateral (select * from delivery where delivery.id = page.id limit 1) d
     order by ${order}`,
    ),
    values,
  );
  return pageOfRows(rows, request.limit);
}

/** One page of the callbacks of a task by the time of their creation (`timePosition`). A callback has at most as many tries as the retry schedule. */
export async function listTaskDeliveries(
  database: Database,
  taskId: string,
  { limit, after }: PageRequest,
): Promise<Page<ListedDelivery>> {
  const before = after === null ? newestPosition : readTimePosition(after);
  const rows = await database.query<ListedDelivery & Positioned>(
    'list-task-deliveries',
    boundedText(
      `select ${deliveryColumns}, ${positionOf('d')} as position from delivery d
     where d.task_id = $1 and (d.created_at, d.id) < (${timeOfPosition('$2')}, $3::text)
     order by d.created_at desc, d.id desc limit $4`,
      CLIENT_PAGE_BYTES_MAX,
    ),
    [taskId, before.microseconds, before.id, limit + 1],
  );
  return pageOfRows(rows, limit);
}

const deliveryColumns = `d.id, d.event_id, d.state, d.attempts, d.last_status, ${unixSeconds('d.created_at')} as created_at,
  ${unixSeconds('d.ended_at')} as ended_at, ${unixSeconds('d.next_attempt_at')} as next_attempt_at,
  (select coalesce(json_agg(json_build_object('n', a.n, 'startedAt', ${unixSeconds('a.started_at')},
     'endedAt', ${unixSeconds('a.ended_at')}, 'status', a.status, 'error', a.error_class) order by a.n), '[]')
   from delivery_attempt a where a.delivery_id = d.id) as tries`;

/** The expression of the index `delivery_host_idx`. */
const hostOfDelivery = `lower(split_part(split_part(d.url, '/', 3), '@', -1))`;

const projectName = `coalesce((select p.name from project p where p.id = d.project_id), '')`;
const columnsForOperators = `d.task_id, d.project_id, ${projectName} as project_name, ${hostOfDelivery} as host, ${deliveryColumns}`;

/** The columns of the list of callbacks that it can be sorted by. */
export const deliverySortColumns = {
  delivery_id: 'd.id',
  event_id: 'd.event_id',
  state: 'd.state',
  attempts: { number: 'd.attempts' },
  last_status: { number: 'd.last_status' },
  created_at: { time: 'd.created_at' },
  ended_at: { time: 'd.ended_at' },
  next_attempt_at: { time: 'd.next_attempt_at' },
  task_id: 'd.task_id',
  project_id: 'd.project_id',
  project_name: projectName,
  host: hostOfDelivery,
} as const;

const deliveryRows = {
  table: 'delivery',
  row: 'd',
  time: 'created_at',
  idType: 'text',
  joins: '',
  columns: deliverySortColumns,
} as const;
