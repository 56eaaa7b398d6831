-- Tasks, attempts (also those of chats) and idempotency keys.

create table task (
  id text primary key,
  project_id text not null references project (id),
  key_id text not null references api_key (id),
  request_id text not null,
  dialect text not null default 'openai',
  type text not null check (type in ('image', 'video')),
  model_id text not null,
  status text not null default 'queued' check (status in ('queued', 'processing', 'succeeded', 'failed', 'canceled')),
  -- open: written, not decided yet; reserved: credits are held; rejected: never admitted, invisible, deleted later.
  admission text not null default 'open' check (admission in ('open', 'reserved', 'rejected')),
  refusal_code text,
  input jsonb,
  snapshot jsonb not null,
  credits_quoted bigint not null check (credits_quoted > 0),
  credits_reserved bigint not null default 0,
  credits_charged bigint not null default 0,
  credits_refunded bigint not null default 0,
  progress int,
  attempts int not null default 0,
  channel_id text,
  output jsonb,
  error_code text,
  outcome_unknown boolean not null default false,
  callback_url text,
  -- What the client noted about the task: up to 16 texts by name.
  metadata jsonb,
  max_credits bigint,
  created_at timestamptz not null default clock_timestamp(),
  started_at timestamptz,
  completed_at timestamptz,
  deadline_at timestamptz not null,
  expires_at timestamptz,
  workflow_started_at timestamptz,
  start_claimed_until timestamptz,
  last_seen_at timestamptz not null default clock_timestamp(),
  -- Set with every cancel of a client, also with a refused one: nothing more is bought for a task that its client wants stopped.
  cancel_requested_at timestamptz,
  cancel_refused_at timestamptz,
  -- Set when its client deleted the task: no client finds it any more.
  deleted_at timestamptz,
  -- The trace of the create request in the format of W3C Trace Context, where traces are on: whatever works on the task continues it.
  trace_parent text,
  -- The status by which lists find an ended task. Only the end of the task changes it: an index with status itself would make each start of
  -- an attempt write to every index of the table.
  listed_as text generated always as (case when completed_at is not null and admission = 'reserved' and deleted_at is null then status end) stored,
  check ((status in ('succeeded', 'failed', 'canceled')) = (completed_at is not null)),
  check (status <> 'succeeded' or output is not null or expires_at is not null)
) with (fillfactor = 60);
-- The pages of listProjectTasks and listTasks.
create index task_running_idx on task (project_id, created_at desc, id desc) where completed_at is null and admission = 'reserved';
create index task_ended_idx on task (project_id, type, listed_as, created_at desc, id desc) where listed_as is not null;
create index task_ended_model_idx on task (project_id, model_id, type, listed_as, created_at desc, id desc) where listed_as is not null;
create index task_ended_key_idx on task (key_id, type, listed_as, created_at desc, id desc) where listed_as is not null;
create index task_ended_key_model_idx on task (key_id, model_id, type, listed_as, created_at desc, id desc) where listed_as is not null;
create index task_ended_anywhere_idx on task (type, listed_as, created_at desc, id desc) where listed_as is not null;
create index task_ended_anywhere_model_idx on task (model_id, type, listed_as, created_at desc, id desc) where listed_as is not null;
create index task_open_idx on task (created_at) where admission = 'open';
create index task_unstarted_idx on task (created_at)
  where admission = 'reserved' and workflow_started_at is null and completed_at is null;
create index task_live_idx on task (deadline_at) where completed_at is null and admission <> 'rejected';
create index task_unknown_idx on task (id desc) where outcome_unknown;
create index task_completed_idx on task (completed_at) where completed_at is not null;
create index task_rejected_idx on task (completed_at) where admission = 'rejected';
create index task_content_idx on task (expires_at)
  where completed_at is not null and (input is not null or output is not null);

-- Finds tasks by their metadata: a row for each name and value of a task (metadata_pair), in the order of lists.
create table task_metadata (
  pair bigint not null,
  created_at timestamptz not null,
  task_id text not null,
  primary key (pair, created_at, task_id)
);

-- What operators found out about tasks whose outcome upstream was unknown. The task itself has ended and does not change.
create table task_resolution (
  task_id text primary key references task (id) on delete cascade,
  outcome text not null check (outcome in ('bought', 'not_bought')),
  reference text not null,
  at timestamptz not null default clock_timestamp()
);

-- One call to one channel for a task or a chat. request_id is the id of the task or of the chat's hold. A chat whose first call
-- succeeds has no row here: its ledger entry says what this row would.
create table attempt (
  id text primary key,
  request_id text not null,
  n int not null check (n > 0),
  channel_id text not null,
  channel_name text not null,
  model_id text,
  -- The fencing token: every later write must present it, and a worker that resumes an attempt takes a new one.
  fence text not null,
  submit_deadline timestamptz not null,
  started_at timestamptz not null default clock_timestamp(),
  submitted_at timestamptz,
  operation jsonb,
  result jsonb,
  outputs jsonb,
  outcome text check (outcome in ('ok', 'refused', 'transient', 'unknown', 'canceled')),
  code text,
  error_class text,
  status int,
  detail text,
  cost_micro_usd bigint not null default 0,
  stop_sent_at timestamptz,
  ended_at timestamptz,
  -- Set while the job is parked: no activity polls it, and a worker asks the provider when this time has come.
  next_poll_at timestamptz,
  -- Of a parked job, so that the projects take turns.
  project_id text,
  -- Since when the provider has answered every poll with 404.
  missing_since timestamptz,
  unique (request_id, n),
  unique (request_id, channel_id),
  check ((outcome is null) = (ended_at is null)),
  check (next_poll_at is null or (outcome is null and operation is not null and project_id is not null))
) with (fillfactor = 60);
create index attempt_parked_idx on attempt (channel_id, project_id, next_poll_at) where next_poll_at is not null;
create index attempt_started_idx on attempt using brin (started_at) with (pages_per_range = 32, autosummarize = on);

create table idempotency (
  project_id text not null references project (id),
  route text not null,
  key text not null,
  fingerprint text not null,
  request_id text not null,
  task_id text,
  status int,
  body text,
  bound_at timestamptz,
  -- The first replay of the answer: from then on the answer counts as delivered.
  replayed_at timestamptz,
  created_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null,
  primary key (project_id, route, key)
);
create index idempotency_expires_idx on idempotency (expires_at);
create index idempotency_request_idx on idempotency (request_id);
create index idempotency_task_idx on idempotency (task_id) where task_id is not null;
