import type { Page, PageRequest } from '../../domain/page.ts';
import { readTimePosition } from '../../domain/time-position.ts';
import type { TaskView } from '../../domain/tasks/task-view.ts';
import { boundedPageOf, boundedText, OPERATOR_PAGE_BYTES_MAX, type Bounded } from '../bounded-page.ts';
import type { Database } from '../database.ts';
import { isByTime, sortedPageOf, sortedText, type ListRequest, type SortedRow, type TimeOrder } from '../list-order.ts';
import { positionOf } from '../time-position-sql.ts';
import { readOperatorPage, type TasksFilter } from './list-tasks.ts';
import { viewWithoutInput, withDelivery } from './tasks.ts';

export interface TaskFilter extends TasksFilter {
  projectId?: string | undefined;
  /** Only tasks whose outcome upstream is unknown and that no operator has resolved (`tasks resolve`). */
  unknownOnly?: boolean;
}

/** One page of the admitted tasks of all projects or of one, for operators. In the order of time it costs as much as a page of a project. */
export async function listTaskRows(
  database: Database,
  { unknownOnly = false, ...filter }: TaskFilter,
  request: ListRequest,
): Promise<Page<TaskView>> {
  const { sort = 'newest', createdFrom, createdBefore } = request;
  if (!isByTime(sort)) return sortedTasks(database, { ...filter, unknownOnly }, { ...request, sort });
  if (unknownOnly) return listUnknownTasks(database, { ...filter, createdFrom, createdBefore }, { ...request, sort });
  return readOperatorPage(database, { ...filter, createdFrom, createdBefore, oldestFirst: sort === 'oldest' }, request);
}

async function sortedTasks(
  database: Database,
  { projectId, status, type, modelId, keyId, unknownOnly = false }: TaskFilter,
  request: ListRequest & { sort: string },
): Promise<Page<TaskView>> {
  const values: unknown[] = [projectId ?? null, status ?? null, type ?? null, modelId ?? null, keyId ?? null];
  const bind = (value: unknown): string => `$${values.push(value)}`;
  const match = `t.admission = 'reserved' and ($1::text is null or t.project_id = $1) and ($2::text is null or t.status = $2)
    and ($3::text is null or t.type = $3) and ($4::text is null or t.model_id = $4) and ($5::text is null or t.key_id = $5)
    ${unknownOnly ? isUnknown : ''}`;
  const rows = await database.query<TaskView & SortedRow>(
    `sorted-tasks-${request.sort}${unknownOnly ? '-unknown' : ''}`,
    sortedText({ ...taskRows, match }, request, bind),
    values,
  );
  return sortedPageOf(rows, request.limit);
}

const isUnknown = 'and t.outcome_unknown and not exists (select from task_resolution r where r.task_id = t.id)';

/** The columns of the list of tasks that it can be sorted by. `credits` are those that were charged. */
export const taskColumns = {
  task_id: 't.id',
  project_id: 't.project_id',
  project_name: '(select p.name from project p where p.id = t.project_id)',
  key_id: 't.key_id',
  key_name: '(select k.name from api_key k where k.id = t.key_id)',
  type: 't.type',
  model: 't.model_id',
  status: 't.status',
  error_code: 't.error_code',
  outcome_unknown: { number: 't.outcome_unknown::int' },
  attempts: { number: 't.attempts' },
  credits: { number: 't.credits_charged' },
  'credits.quoted': { number: 't.credits_quoted' },
  'credits.reserved': { number: 't.credits_reserved' },
  'credits.charged': { number: 't.credits_charged' },
  'credits.refunded': { number: 't.credits_refunded' },
  created_at: { time: 't.created_at' },
  started_at: { time: 't.started_at' },
  completed_at: { time: 't.completed_at' },
  request_id: 't.request_id',
} as const;

const taskRows = {
  table: 'task',
  row: 't',
  time: 'created_at',
  idType: 'text',
  select: viewWithoutInput,
  joins: withDelivery,
  columns: taskColumns,
} as const;

/** The tasks whose outcome is unknown have an index of their own, and are few. */
async function listUnknownTasks(
  database: Database,
  filter: Omit<TaskFilter, 'unknownOnly'> & Pick<TasksFilter, 'createdFrom' | 'createdBefore'>,
  page: PageRequest & { sort: TimeOrder },
): Promise<Page<TaskView>> {
  const isNewest = page.sort === 'newest';
  const direction = isNewest ? 'desc' : 'asc';
  const { projectId, status, type, modelId, keyId, createdFrom, createdBefore } = filter;
  const rows = await database.query<TaskView & Bounded & { position: string }>(
    `list-unknown-tasks-${page.sort}`,
    boundedText(
      `select ${viewWithoutInput}, ${positionOf('t')} as position from (
       select * from task t
       where admission = 'reserved' ${isUnknown}
         and ($1::text is null or project_id = $1) and ($2::text is null or status = $2)
         and ($4::text is null or type = $4) and ($5::text is null or model_id = $5) and ($6::text is null or key_id = $6)
         and ($7::float8 is null or created_at >= to_timestamp($7)) and ($8::float8 is null or created_at < to_timestamp($8))
         and ($9::text is null or id ${isNewest ? '<' : '>'} $9)
       order by id ${direction} limit $3) t ${withDelivery} order by t.id ${direction}`,
      OPERATOR_PAGE_BYTES_MAX,
    ),
    [
      projectId ?? null,
      status ?? null,
      page.limit + 1,
      type ?? null,
      modelId ?? null,
      keyId ?? null,
      createdFrom ?? null,
      createdBefore ?? null,
      page.after === null ? null : readTimePosition(page.after).id,
    ],
  );
  return boundedPageOf(rows, page.limit, ({ position }) => position);
}
