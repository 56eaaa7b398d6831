import { pageOf, type Page, type PageRequest } from '../domain/page.ts';
import {
  endedStatuses,
  isTerminal,
  runningStatuses,
  taskTypes,
  type TaskStatus,
  type TaskType,
} from '../domain/task.ts';
import { earlierPosition, newestPosition, readTimePosition } from '../domain/time-position.ts';
import type { Database } from './database.ts';
import { viewColumns, withDelivery, type TaskView } from './tasks.ts';

export interface ProjectTasksFilter {
  projectId: string;
  status?: TaskStatus | undefined;
  type?: TaskType | undefined;
  modelId?: string | undefined;
  keyId?: string | undefined;
  /** Unix seconds: tasks created at this time or later. */
  createdFrom?: number | undefined;
  /** Unix seconds: tasks created earlier. */
  createdBefore?: number | undefined;
}

/**
 * One page of a project's admitted tasks, by the time of their creation (`timePosition`). The cost of a page does not depend on how many tasks the
 * filter leaves out. Ended tasks are in one index for each choice of a model and a key, by type, status and time; a page reads its
 * tasks of each asked type and status from there. A project has at most 2,000 running tasks, and they have an index of their own.
 */
export async function listProjectTasks(
  database: Database,
  filter: ProjectTasksFilter,
  { limit, after }: PageRequest,
): Promise<Page<TaskView>> {
  const { projectId, status, type, modelId = null, keyId = null, createdFrom = 0, createdBefore } = filter;
  const asked = (all: readonly TaskStatus[]) => all.filter((one) => status === undefined || one === status);
  const before = earlierPosition(after === null ? newestPosition : readTimePosition(after), createdBefore);
  const rows = await database.query<TaskView & { position: string }>(
    `list-project-tasks${keyId === null ? '' : '-of-key'}${modelId === null ? '' : '-of-model'}`,
    pageText({ ofKey: keyId !== null, ofModel: modelId !== null }),
    [
      projectId,
      type === undefined ? taskTypes : [type],
      asked(runningStatuses),
      asked(endedStatuses),
      createdFrom,
      before.microseconds,
      before.id,
      limit + 1,
      keyId,
      modelId,
    ],
  );
  return pageOf(rows, limit, ({ position }) => position);
}

const inRange = `(created_at, id) < ('epoch'::timestamptz + $6::bigint * interval '1 microsecond', $7::text)
  and created_at >= 'epoch'::timestamptz + $5::bigint * interval '1 second'`;
const newestFirst = 'order by created_at desc, id desc limit $8';

/** Each type and status is read by a probe of its own, because one probe over several of them would not be in the order of time. */
const pageText = ({ ofKey, ofModel }: { ofKey: boolean; ofModel: boolean }): string => `
  with page as (
    select created_at, id from (
      (select created_at, id from task
       where cardinality($3::text[]) > 0 and project_id = $1 and completed_at is null and admission = 'reserved'
         and status = any ($3) and type = any ($2) and ($9::text is null or key_id = $9) and ($10::text is null or model_id = $10)
         and ${inRange} ${newestFirst})
      union all
      (select ended.created_at, ended.id from unnest($2::text[]) as of_type cross join unnest($4::text[]) as of_status
       cross join lateral (
         select created_at, id from task
         where ${ofKey ? 'key_id = (select k.id from api_key k where k.id = $9 and k.project_id = $1)' : 'project_id = $1'}
           ${ofModel ? 'and model_id = $10' : ''} and type = of_type and listed_as = of_status
           and ${inRange} ${newestFirst}) ended)
    ) found ${newestFirst})
  select ${viewColumns}, (extract(epoch from page.created_at) * 1000000)::bigint::text || '.' || page.id as position
  from page cross join lateral (select * from task where task.id = page.id limit 1) t ${withDelivery}
  order by page.created_at desc, page.id desc`;

export interface TaskFilter {
  projectId?: string;
  status?: TaskStatus;
  /** Only tasks whose outcome upstream is unknown and that no operator has resolved (`tasks resolve`). */
  unknownOnly?: boolean;
  limit: number;
}

/**
 * The newest admitted tasks first, for operators. The limit comes before the join, so that only listed tasks have their callbacks read. Running
 * tasks are found by the index of these alone, however many have ended.
 */
export async function listTasks(database: Database, filter: TaskFilter): Promise<TaskView[]> {
  const { projectId, status, unknownOnly = false, limit } = filter;
  if (projectId !== undefined && !unknownOnly)
    return (await listProjectTasks(database, { projectId, status }, { limit, after: null })).items;
  const isRunning = status !== undefined && !isTerminal(status);
  return database.query(
    isRunning ? 'list-running-tasks' : 'list-tasks',
    `select ${viewColumns} from (
       select * from task t
       where admission = 'reserved' ${isRunning ? 'and completed_at is null' : ''}
         and ($1::text is null or project_id = $1) and ($2::text is null or status = $2)
         and (not $3::boolean or (outcome_unknown and not exists (select from task_resolution r where r.task_id = t.id)))
       order by id desc limit $4) t ${withDelivery} order by t.id desc`,
    [projectId ?? null, status ?? null, unknownOnly, limit],
  );
}
