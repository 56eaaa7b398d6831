import type { Book } from '../db/books.ts';
import type { TaskView } from '../../src/domain/tasks/task-view.ts';

/** What lists can filter tasks by. */
export interface ListedTask extends Pick<TaskView, 'id' | 'type' | 'status' | 'modelId'> {
  keyId: string;
  /** Unix seconds, with fractions. */
  created: number;
}

/** The keys of the tasks of `manyTasks`: the first has nearly all tasks, the second only a few old ones. */
export interface ListedBook extends Book {
  rareKeyId: string;
}

/**
 * The statements that write this many tasks of a project, one every 20 ms up to an hour ago. Five tasks at a time share the
 * microsecond of their creation. What is rare is only among the oldest tasks, so that a scan from the newest tasks passes all others: canceled
 * tasks, `model-rare` and the second key. Every thousandth of the newest tasks still runs. The ledger has no entries for them.
 */
export const manyTasks = ({ projectId, keyId, rareKeyId }: ListedBook, count: number): string[] => [
  // Skips foreign key checks and triggers, because only the rows that lists read matter.
  `set session_replication_role = replica`,
  `insert into task (id, project_id, key_id, request_id, type, model_id, status, admission, input, output, snapshot, credits_quoted,
                     error_code, created_at, completed_at, deadline_at, expires_at, last_seen_at)
   select 'task_0' || lpad(n::text, 25, '0'), '${projectId}', case when n % 40 = 7 and n < 4000 then '${rareKeyId}' else '${keyId}' end, 'req_t',
     case when model = 'model-image' then 'image' else 'video' end, model, status, 'reserved', '{"prompt": "a red fox"}',
     case when status = 'succeeded' then '[]'::jsonb end, '{}', 1,
     case status when 'failed' then 'upstream_failed' when 'canceled' then 'canceled' end, created, ended, created + interval '10 minutes',
     created + interval '7 days', created
   from generate_series(1, ${count}) n
   cross join lateral (select
     case when n % 50 = 3 and n < 5000 then 'model-rare' when n % 3 = 0 then 'model-image' else 'model-video' end as model,
     case when n % 1000 = 0 and n > ${count} * 0.9 then 'processing' when n % 60 = 11 and n < 6000 then 'canceled' when n % 50 = 0 then 'failed'
       else 'succeeded' end as status,
     date_trunc('second', clock_timestamp()) - interval '1 hour' - (${count} - n + n % 5) * interval '20 milliseconds' as created) given
   cross join lateral (select case when status <> 'processing' then created + interval '1 second' end as ended) times`,
  `set session_replication_role = origin`,
  'vacuum analyze task',
];
