import { deliveryStates, type DeliveryState } from '../../domain/callbacks/delivery-state.ts';
import type { Page, PageRequest } from '../../domain/page.ts';
import { newestPosition, readTimePosition } from '../../domain/time-position.ts';
import {
  boundedPageOf,
  boundedText,
  CLIENT_PAGE_BYTES_MAX,
  OPERATOR_PAGE_BYTES_MAX,
  type Bounded,
} from '../bounded-page.ts';
import type { Database } from '../database.ts';
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
  position: string;
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
}

/**
 * One page of all callbacks for operators, by the time of their creation (`timePosition`). Those that have ended are read for each asked
 * state in the order of an index, so a page costs the same whatever the filter leaves out. Those that wait have an index of their own.
 */
export async function listAllDeliveries(
  database: Database,
  { projectId, taskId, state }: DeliveryFilter,
  { limit, after }: PageRequest,
): Promise<Page<ListedDelivery & { taskId: string; projectId: string }>> {
  const before = after === null ? newestPosition : readTimePosition(after);
  const states = deliveryStates.filter((one) => state === undefined || one === state);
  const values: unknown[] = [states, before.microseconds, before.id, limit + 1];
  const ofProject = projectId === undefined ? '' : `and project_id = $${values.push(projectId)}`;
  const ofTask = taskId === undefined ? null : `$${values.push(taskId)}`;
  const inOrder = `(created_at, id) < (${timeOfPosition('$2')}, $3::text) ${ofProject} order by created_at desc, id desc limit $4`;
  const found =
    ofTask === null
      ? `(select created_at, id from delivery where 'pending' = any ($1::text[]) and ended_at is null and ${inOrder})
         union all
         (select ended.created_at, ended.id from unnest($1::text[]) of_state cross join lateral (
            select created_at, id from delivery where ended_at is not null and state = of_state and ${inOrder}) ended)`
      : `select created_at, id from delivery where task_id = ${ofTask} and state = any ($1::text[]) and ${inOrder}`;
  const rows = await database.query<ListedDelivery & Bounded & { taskId: string; projectId: string }>(
    `list-deliveries${projectId === undefined ? '' : '-of-project'}${taskId === undefined ? '' : '-of-task'}`,
    boundedText(
      `select d.task_id, d.project_id, ${deliveryColumns}
     from (select id from (${found}) found order by created_at desc, id desc limit $4) page
     cross join lateral (select * from delivery where delivery.id = page.id limit 1) d
     order by d.created_at desc, d.id desc`,
      OPERATOR_PAGE_BYTES_MAX,
    ),
    values,
  );
  return boundedPageOf(rows, limit, ({ position }) => position);
}

/** One page of the callbacks of a task by the time of their creation (`timePosition`). A callback has at most as many tries as the retry schedule. */
export async function listTaskDeliveries(
  database: Database,
  taskId: string,
  { limit, after }: PageRequest,
): Promise<Page<ListedDelivery>> {
  const before = after === null ? newestPosition : readTimePosition(after);
  const rows = await database.query<ListedDelivery & Bounded>(
    'list-task-deliveries',
    boundedText(
      `select ${deliveryColumns} from delivery d
     where d.task_id = $1 and (d.created_at, d.id) < (${timeOfPosition('$2')}, $3::text)
     order by d.created_at desc, d.id desc limit $4`,
      CLIENT_PAGE_BYTES_MAX,
    ),
    [taskId, before.microseconds, before.id, limit + 1],
  );
  return boundedPageOf(rows, limit, ({ position }) => position);
}

const deliveryColumns = `d.id, d.event_id, d.state, d.attempts, d.last_status, ${unixSeconds('d.created_at')} as created_at,
  ${unixSeconds('d.ended_at')} as ended_at, ${unixSeconds('d.next_attempt_at')} as next_attempt_at,
  ${positionOf('d')} as position,
  (select coalesce(json_agg(json_build_object('n', a.n, 'startedAt', ${unixSeconds('a.started_at')},
     'endedAt', ${unixSeconds('a.ended_at')}, 'status', a.status, 'error', a.error_class) order by a.n), '[]')
   from delivery_attempt a where a.delivery_id = d.id) as tries`;
