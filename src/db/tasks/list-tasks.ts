import { pageOf, type Page, type PageRequest } from '../../domain/page.ts';
import { endedStatuses, runningStatuses, taskTypes, type TaskStatus, type TaskType } from '../../domain/tasks/task.ts';
import {
  earlierPosition,
  laterPosition,
  newestPosition,
  newestSecond,
  oldestPosition,
  readTimePosition,
} from '../../domain/time-position.ts';
import type { TaskView } from '../../domain/tasks/task-view.ts';
import {
  boundedText,
  CLIENT_PAGE_BYTES_MAX,
  OPERATOR_PAGE_BYTES_MAX,
  withoutBounds,
  type Bounded,
} from '../bounded-page.ts';
import type { Database } from '../database.ts';
import { positionOf, timeOfPosition } from '../time-position-sql.ts';
import { viewColumns, viewWithoutInput, withDelivery } from './tasks.ts';

export interface ProjectTasksFilter extends TasksFilter {
  projectId: string;
  /** Values by name, which the task's metadata must all have. */
  metadata?: Readonly<Record<string, string>> | undefined;
  /** The page begins with the oldest task. Not with `metadata`. */
  oldestFirst?: boolean | undefined;
}

export interface TasksFilter {
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
 * One page of a project's admitted tasks, by the time of their creation (`timePosition`).
 *
 * The cost of a page does not depend on how many tasks the filter leaves out. Ended tasks are in one index for each choice of a model
 * and a key, by type, status and time; a page reads its tasks of each asked type and status from there. A project has at most 2,000
 * running tasks, and they have an index of their own.
 *
 * With metadata, the tasks of one name and value are read in their order, and compared with the rest of the filter. If the page is not full after
 * `scannedMax` of them, the next name and value is tried, and at last the order of all tasks with the filter's other values. If none fills the page,
 * it has fewer tasks than `limit`, and a further page. So has a page whose tasks would be larger than `CLIENT_PAGE_BYTES_MAX` together.
 */
export async function listProjectTasks(
  database: Database,
  filter: ProjectTasksFilter,
  page: PageRequest,
): Promise<Page<TaskView>> {
  const pairs = Object.entries(filter.metadata ?? {});
  const ofClient = { ...filter, isOfClient: true };
  if (pairs.length === 0) return (await readPage(database, ofClient, page, null)).page;
  let best: Scan | null = null;
  for (const pair of [...pairs, null]) {
    const scan = await readPage(database, ofClient, page, pair);
    if (scan.isComplete) return scan.page;
    // The one that came farthest from the newest task has found the most.
    if (best === null || isOlder(scan.page.next, best.page.next)) best = scan;
  }
  return best?.page ?? { items: [], next: null };
}

/** Tasks that are compared with a filter for one page. */
const scannedMax = 1_000;

interface Scan {
  page: Page<TaskView>;
  /** Whether the page is full or the last one. */
  isComplete: boolean;
}

/** One page of the admitted tasks of operators, in the order of time and without their inputs. */
export const readOperatorPage = async (
  database: Database,
  filter: TasksFilter & { projectId?: string | undefined; oldestFirst: boolean },
  page: PageRequest,
): Promise<Page<TaskView>> => (await readPage(database, { ...filter, isOfClient: false }, page, null)).page;

/** Reads a page of the tasks with this pair in their metadata, or of all that match the rest of the filter. Metadata needs a project. */
async function readPage(
  database: Database,
  filter: TasksFilter & Partial<ProjectTasksFilter> & { isOfClient: boolean },
  { limit, after }: PageRequest,
  pair: readonly [name: string, value: string] | null,
): Promise<Scan> {
  const { projectId, status, type, modelId = null, keyId = null, metadata, createdFrom, createdBefore } = filter;
  const matching = (all: readonly TaskStatus[]) => all.filter((one) => status === undefined || one === status);
  const { oldestFirst = false, isOfClient } = filter;
  const start = after === null ? (oldestFirst ? oldestPosition : newestPosition) : readTimePosition(after);
  const before = oldestFirst ? laterPosition(start, createdFrom) : earlierPosition(start, createdBefore);
  // A second bound on the side of the start would make PostgreSQL begin there and read all tasks up to the position.
  const lastSecond = oldestFirst ? (createdBefore ?? newestSecond) : (createdFrom ?? 0);
  const shape = {
    ofProject: projectId !== undefined,
    isOfClient,
    ofPair: pair !== null,
    ofKey: keyId !== null,
    ofModel: modelId !== null,
    oldestFirst,
  };
  const text = shape.ofPair ? pairText : pageText(shape);
  const rows = await database.query<
    TaskView & Partial<Bounded> & { position: string; scannedTo: string | null; found: number }
  >(statementName(shape), isOfClient ? text : boundedText(text, OPERATOR_PAGE_BYTES_MAX), [
    projectId ?? null,
    type === undefined ? taskTypes : [type],
    matching(runningStatuses),
    matching(endedStatuses),
    lastSecond,
    before.microseconds,
    before.id,
    limit + 1,
    keyId,
    modelId,
    metadata === undefined ? limit + 1 : scannedMax,
    metadata === undefined ? null : JSON.stringify(metadata),
    ...(pair ?? []),
  ]);
  const found = pageOf(
    rows.filter(({ id }) => id !== null).map(withoutBounds),
    limit,
    ({ position }) => position,
    rows[0]?.found,
  );
  const scannedTo = metadata === undefined ? null : (rows[0]?.scannedTo ?? null);
  if (found.next !== null || scannedTo === null) return { page: found, isComplete: true };
  return { page: { items: found.items, next: scannedTo }, isComplete: found.items.length === limit };
}

const isOlder = (left: string | null, right: string | null): boolean =>
  left !== null && (right === null || readTimePosition(left).microseconds < readTimePosition(right).microseconds);

/** Which way the index of a list is read. */
const ways = {
  newestFirst: { direction: 'desc', opposite: 'asc', behind: '<', within: '>=' },
  oldestFirst: { direction: 'asc', opposite: 'desc', behind: '>', within: '<' },
} as const;
type Way = (typeof ways)[keyof typeof ways];

const inRange = ({ behind, within }: Way, id = 'id'): string =>
  `(created_at, ${id}) ${behind} (${timeOfPosition('$6')}, $7::text)
  and created_at ${within} 'epoch'::timestamptz + $5::bigint * interval '1 second'`;
const ordered = (direction: Way['direction'], of = '', id = 'id'): string =>
  `order by ${of}created_at ${direction}, ${of}${id} ${direction}`;

/** A page of the tasks that `scanned` has in their order and that `match`. Every row says where the scan ended, if it did not reach the last task. */
function pageOfScanned(scanned: string, match: string, way: Way, isOfClient: boolean): string {
  const { direction, opposite } = way;
  return `
  with recursive scanned as materialized (${scanned}),
  page as materialized (
    select p.created_at, p.id, row_number() over (${ordered(direction, 'p.')}) as n
    from (select s.created_at, s.id from scanned s ${match} ${ordered(direction, 's.')} limit $8) p),
  ${isOfClient ? fitting : ''}
  scan as (
    select case when count(*) = $11 then (select ${positionOf('s')} from scanned s ${ordered(opposite, 's.')} limit 1) end as scanned_to,
      (select count(*)::int from page) as found
    from scanned)
  select ${isOfClient ? viewColumns : viewWithoutInput}, ${positionOf('t')} as position, scan.scanned_to, scan.found
  from scan left join ${isOfClient ? 'fitting t' : `(page ${taskOfPage})`} on true ${withDelivery}
  ${ordered(direction, 't.')}`;
}

const taskOfPage = 'cross join lateral (select * from task where task.id = page.id limit 1) t';

/** The first task of the page and those after it that are not too large with all before them. One after another, so that no further one is read. */
const fitting = `fitting as (
    select page.n, size.bytes, t.* from page ${taskOfPage} ${sizeOfTask()} where page.n = 1
    union all
    select page.n, before.bytes + size.bytes, t.*
    from fitting before join page on page.n = before.n + 1 ${taskOfPage} ${sizeOfTask()}
    where before.bytes + size.bytes <= ${CLIENT_PAGE_BYTES_MAX}),`;

/** About as many bytes as the task has as JSON. */
function sizeOfTask(): string {
  const columns = ['input', 'output', 'metadata'].map((name) => `coalesce(octet_length(t.${name}::text), 0)`);
  return `cross join lateral (select ${columns.join(' + ')} + 800 as bytes) size`;
}

/** Each type and status is read by a probe of its own, because one probe over several of them would not be in the order of time. */
function pageText({ ofProject, ofKey, ofModel, oldestFirst, isOfClient }: Shape): string {
  const way = oldestFirst ? ways.oldestFirst : ways.newestFirst;
  const inOrder = ordered(way.direction);
  const inProject = (of = ''): string => (ofProject ? `${of}project_id = $1` : '$1::text is null');
  const ofOwner = ofKey ? `key_id = (select k.id from api_key k where k.id = $9 and ${inProject('k.')})` : inProject();
  return pageOfScanned(
    `select created_at, id from (
       (select created_at, id from task
        where cardinality($3::text[]) > 0 and ${inProject()} and completed_at is null and admission = 'reserved'
          and status = any ($3) and type = any ($2) and ($9::text is null or key_id = $9) and ($10::text is null or model_id = $10)
          and ${inRange(way)} ${inOrder} limit $11)
       union all
       (select ended.created_at, ended.id from unnest($2::text[]) as of_type cross join unnest($4::text[]) as of_status
        cross join lateral (
          select created_at, id from task
          where ${ofOwner} ${ofModel ? 'and model_id = $10' : ''} and type = of_type and listed_as = of_status
            and ${inRange(way)} ${inOrder} limit $11) ended)
     ) found ${inOrder} limit $11`,
    'where $12::jsonb is null or (select t.metadata @> $12 from task t where t.id = s.id)',
    way,
    isOfClient,
  );
}

type Shape = Record<'ofPair' | 'ofProject' | 'ofKey' | 'ofModel' | 'oldestFirst' | 'isOfClient', boolean>;

function statementName({ ofProject, isOfClient, ofPair, ofKey, ofModel, oldestFirst }: Shape): string {
  const parts = [
    ofProject ? 'list-project-tasks' : 'list-tasks',
    !isOfClient && 'whole',
    ofPair && 'of-pair',
    ofKey && 'of-key',
    ofModel && 'of-model',
    oldestFirst && 'oldest-first',
  ];
  return parts.filter((part) => part !== false).join('-');
}

const pairText = pageOfScanned(
  `select created_at, task_id as id from task_metadata
   where pair = metadata_pair($1, $13, $14) and ${inRange(ways.newestFirst, 'task_id')} ${ordered('desc', '', 'task_id')} limit $11`,
  `cross join lateral (select * from task where task.id = s.id limit 1) t
   where t.project_id = $1 and t.admission = 'reserved' and t.status = any ($3::text[] || $4::text[]) and t.type = any ($2::text[])
     and ($9::text is null or t.key_id = $9) and ($10::text is null or t.model_id = $10) and t.metadata @> $12::jsonb`,
  ways.newestFirst,
  true,
);

/** The position in a project's list of one of its admitted tasks; null if it has no such task of this type. */
export async function positionOfTask(
  database: Database,
  { projectId, type, taskId }: { projectId: string; type: TaskType; taskId: string },
): Promise<string | null> {
  const [row] = await database.query<{ position: string }>(
    'position-of-task',
    `select ${positionOf('t')} as position from task t
     where id = $1 and project_id = $2 and type = $3 and admission = 'reserved'`,
    [taskId, projectId, type],
  );
  return row?.position ?? null;
}
