-- Callbacks: deliveries and their tries.

create table delivery (
  id text primary key,
  task_id text not null references task (id),
  project_id text not null references project (id),
  -- The webhook-id: the same for all retries, a new one for a manual redelivery.
  event_id text not null unique,
  -- Erased with the content of the task.
  url text,
  state text not null default 'pending' check (state in ('pending', 'delivered', 'exhausted', 'gone', 'blocked')),
  attempts int not null default 0,
  last_status int,
  next_attempt_at timestamptz,
  lease_until timestamptz,
  lease_token text,
  woken_at timestamptz,
  -- The workflow that waits between the tries; null for the task's own workflow.
  workflow_id text,
  -- Set once that workflow was found to be gone: from then on the sweep delivers.
  adopted_at timestamptz,
  body text,
  created_at timestamptz not null default clock_timestamp(),
  ended_at timestamptz,
  check ((state = 'pending') = (ended_at is null)),
  check (state <> 'pending' or url is not null)
) with (fillfactor = 60);
create index delivery_task_idx on delivery (task_id, created_at desc);
-- The redeliveries of a project that still run.
create index delivery_redelivery_idx on delivery (project_id) where ended_at is null and workflow_id is not null;
-- The pages of listAllDeliveries. A delivery that has ended stays ended.
create index delivery_ended_idx on delivery (state, created_at desc, id desc) where ended_at is not null;
create index delivery_ended_project_idx on delivery (project_id, state, created_at desc, id desc) where ended_at is not null;
create index delivery_due_idx on delivery (next_attempt_at) where ended_at is null;

create table delivery_attempt (
  delivery_id text not null references delivery (id),
  n int not null,
  started_at timestamptz not null default clock_timestamp(),
  ended_at timestamptz,
  status int,
  error_class text,
  primary key (delivery_id, n)
);
create index delivery_attempt_started_idx on delivery_attempt
  using brin (started_at) with (pages_per_range = 32, autosummarize = on);
