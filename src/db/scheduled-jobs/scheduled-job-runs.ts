import {
  scheduledJobNames,
  type ScheduledJobName,
  type ScheduledJobState,
  type ScheduledJobSummary,
  type ScheduledJobTrigger,
} from '../../domain/tasks/scheduled-job.ts';
import type { Page } from '../../domain/page.ts';
import type { Database } from '../database.ts';
import { recordAudit } from '../operators/audit.ts';
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
import { unixSeconds } from '../unix-seconds.ts';

/** A run of a job, or a requested run. Times are unix seconds. */
export interface ScheduledJobRun {
  runId: string;
  name: string;
  trigger: ScheduledJobTrigger;
  state: ScheduledJobState;
  requestedAt: number;
  startedAt: number | null;
  endedAt: number | null;
  summary: ScheduledJobSummary | null;
}

interface NewScheduledRun {
  name: ScheduledJobName;
  runId: string;
  trigger: ScheduledJobTrigger;
  leaseSeconds: number;
  /** Only announces the run. */
  request: boolean;
  /** The operator who begins the run, if one does. */
  actor?: string | undefined;
}

/**
 * Takes the lock of a job for `leaseSeconds`, or with `request` only announces a run. The process that begins the job takes the
 * announced run over. Returns the id of the run that has the lock, which may be an announced run or that of another process.
 */
export const beginScheduledJob = (
  database: Database,
  { name, runId, trigger, leaseSeconds, request, actor }: NewScheduledRun,
): Promise<BegunScheduledRun> =>
  database.transaction('begin', async (_query, inside) => {
    const [begun] = await inside.call<BegunScheduledRun>('begin_job', [name, runId, trigger, leaseSeconds, request]);
    if (!begun) throw new Error('begin_job returned no row');
    if (begun.verdict === 'running' && actor !== undefined) {
      const after = { name, state: 'running' };
      await recordAudit(inside, { actor, action: 'jobs.run', subject: begun.runId, before: null, after });
    }
    return begun;
  });

export interface BegunScheduledRun {
  verdict: 'requested' | 'running' | 'already_running';
  runId: string;
}

/** Extends the lock of a run; false if the lock was lost. */
export async function extendScheduledJobLease(
  database: Database,
  runId: string,
  leaseSeconds: number,
): Promise<boolean> {
  return database.returnsRow(
    'extend-job-lease',
    `update job_run set lease_until = clock_timestamp() + make_interval(secs => $2)
     where id = $1 and state = 'running' returning id`,
    [runId, leaseSeconds],
  );
}

/** Ends a run and releases its lock; false if the run already counted as lost. */
export async function endScheduledJob(
  database: Database,
  input: { runId: string; state: 'succeeded' | 'failed'; summary: ScheduledJobSummary },
): Promise<boolean> {
  return database.returnsRow(
    'end-job',
    `update job_run set state = $2, summary = $3, ended_at = clock_timestamp()
     where id = $1 and state = 'running' returning id`,
    [input.runId, input.state, JSON.stringify(input.summary)],
  );
}

/** The current state of a run; null for an unknown id. */
export async function findScheduledJobRun(database: Database, runId: string): Promise<ScheduledJobRun | null> {
  return database.first<ScheduledJobRun>('find-job-run', `select ${runColumns} from job_run where id = $1`, [runId]);
}

/** The latest runs of a job, newest first. */
export async function listScheduledJobRuns(
  database: Database,
  name: ScheduledJobName,
  limit: number,
): Promise<ScheduledJobRun[]> {
  return database.query<ScheduledJobRun>(
    'list-job-runs',
    `select ${runColumns} from job_run where name = $1 order by requested_at desc, id desc limit $2`,
    [name, limit],
  );
}

/** One page of the runs of all jobs, or of one. An index has those of each job by the time of their request. */
export async function listAllScheduledJobRuns(
  database: Database,
  { name }: { name?: ScheduledJobName | undefined },
  request: ListRequest,
): Promise<Page<ScheduledJobRun>> {
  const values: unknown[] = [name === undefined ? scheduledJobNames : [name]];
  const bind = (value: unknown): string => `$${values.push(value)}`;
  const { sort = 'newest' } = request;
  if (!isByTime(sort)) {
    const match = 'r.name = any ($1::text[])';
    const rows = await database.query<ScheduledJobRun & SortedRow>(
      `list-all-job-runs-${sort}`,
      sortedText({ ...runRows, match, select: runColumns }, { ...request, sort }, bind),
      values,
    );
    return sortedPageOf(rows, request.limit);
  }
  const { where, order, position } = inTimeOrder(runRows, { ...request, sort }, bind);
  const rows = await database.query<ScheduledJobRun & Positioned>(
    `list-all-job-runs-${sort}`,
    operatorPageText(
      `select ${runColumns}, ${position} as position
     from unnest($1::text[]) requested (of_name) cross join lateral (
       select * from job_run r where name = of_name and ${where} order by ${order} limit ${bind(request.limit + 1)}::int) r
     order by ${order} limit ${bind(request.limit + 1)}::int`,
    ),
    values,
  );
  return pageOfRows(rows, request.limit);
}

/**
 * The jobs that have not begun for three of their intervals, and the jobs with an announced run that no process has begun. For a
 * job that has never run, the wait starts with the calling process, which has run for `upSeconds`.
 */
export async function listOverdueScheduledJobs(
  database: Database,
  input: { intervals: readonly { name: ScheduledJobName; everySeconds: number }[]; upSeconds: number },
): Promise<ScheduledJobName[]> {
  const rows = await database.query<{ name: ScheduledJobName }>(
    'list-overdue-jobs',
    `select j.name from unnest($1::text[], $2::float8[]) as j (name, every)
     left join lateral (
       select r.state, r.lease_until, extract(epoch from clock_timestamp() - r.requested_at)::float8 as age
       from job_run r where r.name = j.name order by r.requested_at desc limit 1) latest on true
     where case
       when latest.state is null then $3 > 3 * j.every
       when latest.state = 'requested' then latest.age > least(${requestTakenUpSeconds}, 3 * j.every)
       when latest.state = 'running' then latest.age > 3 * j.every and latest.lease_until <= clock_timestamp()
       else latest.age > 3 * j.every end`,
    [input.intervals.map(({ name }) => name), input.intervals.map(({ everySeconds }) => everySeconds), input.upSeconds],
  );
  return rows.map(({ name }) => name);
}

/** Deletes at most `limit` runs that ended more than `days` ago, and returns how many. */
export async function purgeScheduledJobRuns(database: Database, days: number, limit: number): Promise<number> {
  const rows = await database.query(
    'purge-job-runs',
    `delete from job_run where id in (
       select id from job_run where ended_at < clock_timestamp() - make_interval(days => $1) limit $2) returning id`,
    [days, limit],
  );
  return rows.length;
}

/** If no process has begun an announced run within this time, the process that should begin it is not running. */
const requestTakenUpSeconds = 10;

const times = ['requested_at', 'started_at', 'ended_at'].map((column) => `${unixSeconds(column)} as ${column}`);
const runColumns = `id as run_id, name, trigger, state, ${times.join(', ')}, summary`;

/** The columns of the list of runs that it can be sorted by. */
export const scheduledJobRunColumns = {
  run_id: 'r.id',
  name: 'r.name',
  trigger: 'r.trigger',
  state: 'r.state',
  requested_at: { time: 'r.requested_at' },
  started_at: { time: 'r.started_at' },
  ended_at: { time: 'r.ended_at' },
} as const;

const runRows = {
  table: 'job_run',
  row: 'r',
  time: 'requested_at',
  idType: 'text',
  joins: '',
  columns: scheduledJobRunColumns,
} as const;
