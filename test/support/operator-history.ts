import { foldTraffic } from '../../src/db/operators/overview.ts';
import { foldUsage } from '../../src/db/ledger/spend.ts';
import { listOpenDays, rebuildDay } from '../../src/db/ledger/summaries.ts';
import { fillDatabase } from './history.ts';

export interface OperatorHistorySize {
  /** Ended requests. */
  entries: number;
  /** One of so many is a task, the others are chats. A multiple of ten that divides the requests. */
  entriesPerTask: number;
  projects: number;
  /** Of each project. */
  keys: number;
  /** The last request ended ten minutes ago, and the first one so many days before. */
  days: number;
  audits: number;
  scheduledJobRuns: number;
}

/** Names of the history that a read may ask for. The first project and key have nine tenths of all rows. */
export const operatorHistory = {
  project: 'prj_h_1',
  key: 'key_h_1_1',
  /** A project and a key with few rows. */
  smallProject: 'prj_h_2',
  plan: 'plan 7',
  smallKey: 'key_h_2_1',
  channel: 'channel-h-1',
  channelId: 'chn_h_1',
  imageModel: 'aurora-image-1',
  chatModel: 'chat-h-1',
  actor: 'operator 1',
  action: 'keys.set',
  /** The n-th task, counted from 1. */
  task: (n: number): string => `task_0${String(n).padStart(25, '0')}`,
  /** The request of the n-th entry, if it is a chat. */
  chat: (n: number): string => `req_0${String(n).padStart(25, '0')}`,
} as const;

/**
 * Writes what operators look at, as the owner of the tables: projects with keys, the ledger of ended chats and tasks, tasks with their attempts,
 * callbacks and files, runs of jobs, and changes by operators. Then builds the summaries and adds up the traffic as the jobs do. The ledger
 * is consistent afterwards.
 */
export const writeOperatorHistory = (databaseUrl: string, size: OperatorHistorySize): Promise<void> =>
  fillDatabase(databaseUrl, async (database) => {
    for (const text of statementsOf(size)) await database.query('', text);
    const bounds = { creditValueMicroUsd: 10_000, lagSeconds: 60, freezeAfterDays: 2 };
    for (const day of await listOpenDays(database)) await rebuildDay(database, { day, ...bounds });
    await foldTraffic(database, bounds.lagSeconds);
    await foldUsage(database, bounds.lagSeconds);
  });

/** Building the indexes of the ledger once takes a fraction of the time. */
const dropIndexes = [
  `create temp table dropped as select indexname, indexdef from pg_indexes where tablename = 'ledger_entry' and indexname <> 'ledger_entry_pkey'`,
  `do $$ declare name text; begin for name in select indexname from dropped loop execute 'drop index ' || name; end loop; end $$`,
];
const restoreIndexes = [
  `do $$ declare definition text; begin for definition in select indexdef from dropped loop execute definition; end loop; end $$`,
];

/** Of the first project. */
const runningTasks = 200;

/** Parts of the statements: how the number `n` of an entry and `t` of a task decide about its row. */
function partsOf(size: OperatorHistorySize) {
  const { entries, entriesPerTask, projects, keys, days } = size;
  const tasks = entries / entriesPerTask;
  const id = (prefix: string, n: string): string => `'${prefix}_0' || lpad((${n})::text, 25, '0')`;
  const now = `timestamptz '${new Date().toISOString()}'`;
  const endedAt = (n: string): string =>
    `(${now} - interval '10 minutes' - interval '${days} days' * (1 - (${n})::float8 / ${entries}))`;
  // Nine of ten requests are of the first project, the others of the rest in turn.
  const project = `case when n % 10 <> 0 then 1 else 2 + n / 10 % ${projects - 1} end`;
  const key = `1 + n / 7 % ${keys}`;
  // One of five tasks is not of the first project.
  const entryOfTask = `t * ${entriesPerTask} - case when t % 5 = 0 then 0 else 5 end`;
  const taskOfEntry = `case when n % ${5 * entriesPerTask} = 0 then n / ${entriesPerTask}
    when n % ${entriesPerTask} = ${entriesPerTask - 5} and (n + 5) / ${entriesPerTask} % 5 <> 0 then (n + 5) / ${entriesPerTask} end`;
  const statusOfTask = `case t % 20 when 1 then 'failed' when 2 then 'canceled' else 'succeeded' end`;
  const isRefund = `case when t is null then n % 50 = 7 else t % 20 in (1, 2) end`;
  const model = `case when t is null then 'chat-h-' || 1 + n / 3 % 5 else case when t % 4 = 0 then 'nova-video-1' else 'aurora-image-1' end end`;
  const everyEntry = `from (select n, p, 'key_h_' || p || '_' || k as key_id, t, ${model} as model_id, ${isRefund} as is_refund
    from (select n, ${project} as p, ${key} as k, ${taskOfEntry} as t from generate_series(1, ${entries}) n) numbered) e`;
  const everyTask = `from (select t, n, 'prj_h_' || p as project_id, 'key_h_' || p || '_' || k as key_id, ${statusOfTask} as status, ${model} as model_id
    from (select t, n, ${project} as p, ${key} as k from (select t, ${entryOfTask} as n from generate_series(1, ${tasks}) t) one) numbered) e`;
  // The entries of a project so far without its refunds, all of which are of the first project.
  const refunds = `((n + 43) / 50 + (n + 5) / ${entriesPerTask} / 20 * 2 + least((n + 5) / ${entriesPerTask} % 20, 2))`;
  const spent = `case when p = 1 then n - n / 10 - ${refunds} else (n / 10 + ${projects - 2}) / ${projects - 1} end`;
  const channel = `1 + n % 3`;
  const tookMs = `300 + (n::bigint * 7919) % 4000`;
  const taskTook = `interval '30 seconds'`;
  return {
    ...size,
    tasks,
    id,
    now,
    endedAt,
    project,
    key,
    entryOfTask,
    taskOfEntry,
    statusOfTask,
    isRefund,
    model,
    everyEntry,
    everyTask,
    refunds,
    spent,
    channel,
    tookMs,
    taskTook,
  };
}
type Parts = ReturnType<typeof partsOf>;

/** Every request costs its project one credit, unless it fails. */
function statementsOf(size: OperatorHistorySize): string[] {
  const parts = partsOf(size);
  return [openingStatements, entryStatements, taskStatements, otherStatements].flatMap((each) => each(parts));
}

/** Projects, keys and channels, and what the inserts need. */
const openingStatements = ({ projects, keys, days, now }: Parts): string[] => [
  // Skips foreign key checks and triggers, because only the rows matter here.
  `set session_replication_role = replica`,
  `set work_mem = '256MB'`,
  `set maintenance_work_mem = '512MB'`,
  // Credits that were there before.
  `update ledger_entry set created_at = ${now} - interval '${days + 2} days' where kind = 'topup'`,
  `insert into plan (id, name, rules) select 'pln_h_' || n, 'plan ' || n, '[{"models": "*", "multiplier": 1.5}]' from generate_series(1, 50) n`,
  `insert into project (id, name, callback_secret, created_at)
   select 'prj_h_' || p, 'Project ' || p, 'sealed', ${now} - interval '${days + 1} days' + p * interval '1 second' from generate_series(1, ${projects}) p`,
  `insert into api_key (id, project_id, name, created_at, last_used_at)
   select 'key_h_' || p || '_' || k, 'prj_h_' || p, 'key ' || k, ${now} - interval '${days} days' + (p * ${keys} + k) * interval '1 second', ${now}
   from generate_series(1, ${projects}) p, generate_series(1, ${keys}) k`,
  `insert into api_key_secret (id, key_id, digest, pepper_id, prefix, last4)
   select 'sec_' || id, id, sha256(id::bytea), 'p1', 'sk-h', 'last' from api_key where id like 'key_h_%'`,
  `insert into channel (id, name, adapter, base_url, credential, groups, enabled)
   select 'chn_h_' || c, 'channel-h-' || c, 'openai', 'http://127.0.0.1:1', 'sealed', '{unused}', false from generate_series(1, 3) c`,
];

/** Every entry of the ledger, and the sums of accounts and keys. */
const entryStatements = ({
  entries,
  projects,
  days,
  id,
  now,
  endedAt,
  everyEntry,
  spent,
  channel,
  tookMs,
  taskTook,
}: Parts): string[] => [
  `insert into ledger_entry (project_id, kind, credits, balance_after, reference, created_at)
   select 'prj_h_' || p, 'topup', ${2 * entries}, ${2 * entries}, 'opening', ${now} - interval '${days + 1} days' from generate_series(1, ${projects}) p`,
  ...dropIndexes,
  `insert into ledger_entry (project_id, key_id, request_id, kind, credits, balance_after, model_id, channel_id, held, input_tokens, output_tokens,
                             usage_estimated, cost_micro_usd, began_at, created_at)
   select 'prj_h_' || p, key_id, case when t is null then ${id('req', 'n')} else ${id('task', 't')} end,
     case when is_refund then 'refund' else 'settle' end, case when is_refund then 0 else -1 end,
     ${2 * entries} - ${spent},
     model_id, case when not is_refund then 'chn_h_' || ${channel} end, 1, case when t is null and not is_refund then 100 + n % 900 end, case when t is null and not is_refund then 10 + n % 300 end,
     case when t is null then false end, case when t is null and not is_refund then 1000 + n % 500 end,
     ${endedAt('n')} - case when t is null then (${tookMs}) * interval '1 ms' else ${taskTook} end, ${endedAt('n')}
   ${everyEntry}`,
  ...restoreIndexes,
  `insert into credit_account (project_id, balance)
   select 'prj_h_' || p, (select e.balance_after from ledger_entry e where e.project_id = 'prj_h_' || p order by e.created_at desc, e.id desc limit 1)
   from generate_series(1, ${projects}) p`,
  `update api_key k set spent = s.spent from (select key_id, -sum(credits) as spent from ledger_entry where kind = 'settle' group by 1) s
   where s.key_id = k.id`,
];

/** Attempts and ended tasks. */
const taskStatements = ({ entries, id, now, endedAt, everyTask, channel, taskTook }: Parts): string[] => [
  // A chat whose only call failed, and every task.
  `insert into attempt (id, request_id, n, channel_id, channel_name, fence, submit_deadline, started_at, model_id, outcome, error_class, status, cost_micro_usd, ended_at)
   select ${id('att_1', 'n')}, ${id('req', 'n')}, 1, 'chn_h_' || ${channel}, 'channel-h-' || ${channel}, 'fence', ${endedAt('n')}, ${endedAt('n')} - interval '1 second',
     'chat-h-1', 'refused', 'bad_request', 400, 0, ${endedAt('n')}
   from generate_series(7, ${entries}, 50) n`,
  `insert into attempt (id, request_id, n, channel_id, channel_name, fence, submit_deadline, started_at, submitted_at, model_id, operation, outcome, cost_micro_usd, ended_at)
   select ${id('att_2', 't')}, ${id('task', 't')}, 1, 'chn_h_' || ${channel}, 'channel-h-' || ${channel}, 'fence', ${endedAt('n')}, ${endedAt('n')} - ${taskTook},
     ${endedAt('n')} - ${taskTook}, model_id, '{"id": "job"}', case status when 'succeeded' then 'ok' when 'failed' then 'refused' else status end, 20000, ${endedAt('n')}
   ${everyTask}`,
  `insert into task (id, project_id, key_id, request_id, type, model_id, input, snapshot, credits_quoted, credits_reserved, credits_charged, credits_refunded,
                     callback_url, created_at, started_at, completed_at, deadline_at, expires_at, admission, status, workflow_started_at, last_seen_at, progress,
                     attempts, channel_id, error_code, outcome_unknown, output)
   select ${id('task', 't')}, project_id, key_id, ${id('req_t', 't')}, case when model_id = 'nova-video-1' then 'video' else 'image' end, model_id,
     jsonb_build_object('prompt', 'A toll gate at dawn, in the style of a woodcut, ' || repeat('with much detail ', 10), 'size', '1024x1024', 'n', 1),
     jsonb_build_object('groups', '["default"]'::jsonb, 'upstream', jsonb_build_object('openai', jsonb_build_object('model', model_id, 'parameters', repeat(md5(t::text), 12)))),
     1, 1, case when status = 'succeeded' then 1 else 0 end, case when status = 'succeeded' then 0 else 1 end, 'https://example.com/hook',
     ${endedAt('n')} - ${taskTook}, ${endedAt('n')} - ${taskTook}, ${endedAt('n')}, ${endedAt('n')} + interval '1 hour', ${now} + interval '7 days', 'reserved', status,
     ${endedAt('n')} - ${taskTook}, ${endedAt('n')}, 100, 1, case when status = 'succeeded' then 'chn_h_' || ${channel} end,
     case status when 'failed' then 'upstream_failed' when 'canceled' then 'canceled' end, t % 400 = 1,
     case when status = 'succeeded' then jsonb_build_array(jsonb_build_object('file_id', ${id('file', 't')}, 'mime_type', 'image/png', 'bytes', 1203412, 'width', 1024,
       'height', 1024, 'duration', null, 'sha256', repeat('a', 64), 'expires_at', 1900000000)) end
   ${everyTask}`,
];

/** Tasks that run, files, deliveries, audit entries, runs of jobs and the history of channels. */
const otherStatements = ({
  projects,
  keys,
  days,
  audits,
  scheduledJobRuns,
  tasks,
  id,
  now,
  endedAt,
  everyTask,
}: Parts): string[] => [
  // Tasks that run, with their holds.
  `insert into task (id, project_id, key_id, request_id, type, model_id, status, input, snapshot, credits_quoted, credits_reserved, created_at, started_at, deadline_at,
                     admission, workflow_started_at, progress, attempts)
   select ${id('task_1', 'r')}, 'prj_h_1', 'key_h_1_1', ${id('req_r', 'r')}, 'image', 'aurora-image-1', 'processing', '{"prompt": "A toll gate at dusk"}', '{}', 1, 1,
     ${now}, ${now}, ${now} + interval '1 day', 'reserved', ${now}, 40, 1 from generate_series(1, ${runningTasks}) r`,
  `insert into hold (id, project_id, key_id, kind, model_id, amount, expires_at, created_at)
   select id, project_id, key_id, 'media', model_id, 1, deadline_at, created_at from task where id like 'task\\_1%'`,
  `update credit_account set balance = balance - ${runningTasks}, reserved = ${runningTasks}, in_flight = ${runningTasks} where project_id = 'prj_h_1'`,
  `update api_key set reserved = ${runningTasks}, in_flight = ${runningTasks} where id = 'key_h_1_1'`,
  `insert into file (id, project_id, task_id, purpose, storage_key, mime_type, bytes, sha256, width, height, created_at, expires_at)
   select ${id('file', 't')}, project_id, ${id('task', 't')}, 'output', 'outputs/' || t, 'image/png', 1203412, repeat('a', 64), 1024, 1024, ${endedAt('n')}, ${now} + interval '7 days'
   ${everyTask} where status = 'succeeded'`,
  `insert into delivery (id, task_id, project_id, event_id, url, state, attempts, last_status, next_attempt_at, created_at, ended_at)
   select ${id('dlv', 't')}, ${id('task', 't')}, project_id, 'evt_0' || t, 'https://example.com/hook', state, 1, case state when 'delivered' then 200 else 503 end,
     case state when 'pending' then ${now} + interval '1 hour' end, ${endedAt('n')}, case when state <> 'pending' then ${endedAt('n')} + interval '1 second' end
   from (select *, case when t % 50 = 3 then 'exhausted' when t % 200 = 9 then 'pending' else 'delivered' end as state ${everyTask}) d`,
  `insert into delivery_attempt (delivery_id, n, started_at, ended_at, status)
   select ${id('dlv', 't')}, 1, ${endedAt('n')}, ${endedAt('n')} + interval '1 second', case when t % 50 = 3 then 503 else 200 end ${everyTask}`,
  `insert into audit_entry (at, actor, action, subject, detail)
   select ${now} - interval '${days} days' * (1 - a::float8 / ${audits}), 'operator ' || a % 5, (array['keys.set', 'keys.create', 'credits.add', 'tasks.show', 'channels.set'])[1 + a / 5 % 5],
     case when a % 2 = 0 then 'key_h_' || 1 + a % ${projects} || '_' || 1 + a % ${keys} else ${id('task', `1 + a % ${tasks}`)} end, '{"rpm": {"from": null, "to": 60}}'
   from generate_series(1, ${audits}) a`,
  `insert into job_run (id, name, trigger, state, requested_at, started_at, lease_until, ended_at, summary)
   select 'run_h_' || lpad(r::text, 10, '0'), (array['process-pending-callbacks', 'check-stale-media-tasks', 'check-api-channels'])[1 + r % 3], 'schedule', 'succeeded', at, at, at,
     at + interval '1 second', '{"ended": 0}'
   from (select r, ${now} - interval '30 days' * (1 - r::float8 / ${scheduledJobRuns}) as at from generate_series(1, ${scheduledJobRuns}) r) run`,
  `insert into channel_history (channel_id, span, at, ok, refused, transient, unknown, durations)
   select 'chn_h_' || c, span, date_trunc(span, ${now}) - back * ('1 ' || span)::interval, 5, 1, 1, 1, array_fill(1, array[60])
   from (values ('minute', 2880), ('hour', 740)) spans (span, count), generate_series(0, count - 1) back, generate_series(1, 3) c`,
  `set session_replication_role = origin`,
];
