import type { TaskStart } from '../tasks/tasks.ts';
import type { Database, Statements } from '../database.ts';
import type { RestoreMark } from './restore-marks.ts';

/** An open task of a restored database. */
export interface RestoredTask extends TaskStart {
  /** The channels of its attempts. */
  channelIds: string[];
  /** An attempt has no outcome yet: its provider job is polled on, or asked for if the submit was under way. */
  isPolled: boolean;
  hasStarted: boolean;
  /** Seconds since it was created. */
  ageSeconds: number;
}

/** The open tasks from before the mark, oldest first. */
export const listRestoredTasks = (database: Statements, mark: RestoreMark): Promise<RestoredTask[]> =>
  database.query<RestoredTask>(
    'restored-tasks',
    `select t.id as task_id, t.project_id, t.type, t.model_id, t.input, t.trace_parent,
       coalesce((select array_agg(a.channel_id) from attempt a where a.request_id = t.id), '{}') as channel_ids,
       exists (select from attempt a where a.request_id = t.id and a.outcome is null) as is_polled,
       t.workflow_started_at is not null as has_started,
       extract(epoch from clock_timestamp() - t.created_at)::float8 as age_seconds
     from task t where t.completed_at is null and t.admission = 'reserved' and t.created_at <= $1 order by t.created_at`,
    [mark.markedAt],
  );

/** The channels of a task's attempts. */
export async function listAttemptChannels(database: Statements, taskId: string): Promise<string[]> {
  const rows = await database.query<{ channelId: string }>(
    'attempt-channels',
    'select distinct channel_id from attempt where request_id = $1',
    [taskId],
  );
  return rows.map(({ channelId }) => channelId);
}

/** The newest tasks whose workflows have started, for the question whether Temporal knows any of them. */
export async function listStartedTaskIds(database: Statements, limit: number): Promise<string[]> {
  const rows = await database.query<{ id: string }>(
    'newest-started-tasks',
    'select id from task where workflow_started_at is not null order by id desc limit $1',
    [limit],
  );
  return rows.map(({ id }) => id);
}

/** Counts the open tasks, those of them that have a running attempt (`polled`), the undelivered callbacks and the chats that hold credits. */
export async function countRestoredWork(
  database: Statements,
): Promise<{ tasks: number; polled: number; callbacks: number; chats: number }> {
  const counts = await database.first<{ tasks: number; polled: number; callbacks: number; chats: number }>(
    'restored-work',
    `select (select count(*)::int from task where completed_at is null and admission = 'reserved') as tasks,
       (select count(distinct t.id)::int from task t join attempt a on a.request_id = t.id
        where t.completed_at is null and t.admission = 'reserved' and a.outcome is null) as polled,
       (select count(*)::int from delivery where ended_at is null) as callbacks,
       (select count(*)::int from hold where kind = 'chat') as chats`,
    [],
  );
  if (!counts) throw new Error('the restored work could not be counted');
  return counts;
}

/**
 * Lets the workers go on. The deadlines of the tasks, and of their holds, move by the time that has passed since the restore point, and the
 * workers start their workflows again. False if the mark was released already.
 */
export const releaseMark = (database: Database, mark: RestoreMark, taskIds: readonly string[]): Promise<boolean> =>
  database.transaction('begin', async (query) => {
    const released = await query(
      'release-restore',
      'update restore_mark set released_at = clock_timestamp() where id = $1 and released_at is null returning 1',
      [mark.id],
    );
    if (released.length === 0) return false;
    await query(
      'resume-restored-tasks',
      `with restored as (
         select id from task where id = any ($1) and completed_at is null order by id for no key update
       )
       update task t set deadline_at = t.deadline_at + (clock_timestamp() - $2), last_seen_at = clock_timestamp(),
         workflow_started_at = null, start_claimed_until = null
       from restored r where t.id = r.id`,
      [taskIds, mark.restoredThrough],
    );
    await query(
      'prolong-restored-holds',
      'update hold set expires_at = expires_at + (clock_timestamp() - $2) where id = any ($1)',
      [taskIds, mark.restoredThrough],
    );
    return true;
  });
