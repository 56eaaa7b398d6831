import { Migration } from '@mikro-orm/migrations';

/** The first schema: projects, keys, the ledger, the catalog, channels, tasks and what belongs to them. */
export class Migration0001LedgerAndTasks extends Migration {
  override name = '0001-ledger-and-tasks';

  override up(): void {
    for (const sql of [projects, money, catalog, tasks, deliveries, operators, notifications]) this.addSql(sql);
  }
}

const projects = `
create table project (
  id text primary key,
  name text not null,
  status text not null default 'active' check (status in ('active', 'disabled')),
  callback_secret text not null,
  callback_secret_previous text,
  callback_secret_previous_until timestamptz,
  created_at timestamptz not null default clock_timestamp()
);

-- The hot columns (spent, reserved, in_flight) change with every request: room on the page keeps those updates heap-only.
create table api_key (
  id text primary key,
  project_id text not null references project (id),
  name text not null default '',
  models text[],
  rpm int check (rpm > 0),
  in_flight_max int check (in_flight_max > 0),
  budget bigint check (budget >= 0),
  spent bigint not null default 0 check (spent >= 0),
  reserved bigint not null default 0 check (reserved >= 0),
  in_flight int not null default 0 check (in_flight >= 0),
  expires_at timestamptz,
  revoked_at timestamptz,
  last_used_at timestamptz,
  created_at timestamptz not null default clock_timestamp()
) with (fillfactor = 50);
create index api_key_project_idx on api_key (project_id);

-- Several secrets may open one key while it is rotated.
create table api_key_secret (
  id text primary key,
  key_id text not null references api_key (id),
  digest bytea not null unique,
  pepper_id text not null,
  prefix text not null,
  last4 text not null,
  checksummed boolean not null default true,
  created_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz
);
create index api_key_secret_key_idx on api_key_secret (key_id);
`;

const money = `
create table credit_account (
  project_id text primary key references project (id),
  balance bigint not null default 0 check (balance >= 0),
  reserved bigint not null default 0 check (reserved >= 0),
  in_flight int not null default 0 check (in_flight >= 0)
) with (fillfactor = 50);

create table reservation (
  id text primary key,
  project_id text not null references project (id),
  key_id text not null references api_key (id),
  kind text not null check (kind in ('media', 'chat')),
  model_id text not null,
  channel_id text,
  amount bigint not null check (amount > 0),
  state text not null default 'held' check (state in ('held', 'settled', 'refunded')),
  settled_amount bigint check (settled_amount between 0 and amount),
  expires_at timestamptz not null,
  created_at timestamptz not null default clock_timestamp(),
  ended_at timestamptz,
  check ((state = 'held') = (ended_at is null)),
  check ((state = 'settled') = (settled_amount is not null))
) with (fillfactor = 70);
create index reservation_held_idx on reservation (expires_at) where state = 'held';
create index reservation_key_idx on reservation (key_id);

create table ledger_entry (
  id bigint generated always as identity primary key,
  project_id text not null references project (id),
  key_id text,
  reservation_id text,
  kind text not null check (kind in ('topup', 'hold', 'settle', 'refund', 'adjust')),
  d_balance bigint not null,
  d_reserved bigint not null,
  reference text,
  reason text,
  created_at timestamptz not null default clock_timestamp()
);
create index ledger_entry_project_idx on ledger_entry (project_id, id);
create index ledger_entry_reservation_idx on ledger_entry (reservation_id) where reservation_id is not null;
create unique index ledger_entry_topup_idx on ledger_entry (project_id, reference) where kind = 'topup';

create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception 'ledger entries are only ever added' using errcode = '55000';
end $$;
create trigger ledger_entry_append_only before update or delete on ledger_entry
  for each row execute function refuse_change();
create trigger ledger_entry_never_emptied before truncate on ledger_entry
  for each statement execute function refuse_change();
`;

const catalog = `
create table model (
  id text primary key,
  position int not null,
  entry jsonb not null,
  private jsonb not null,
  updated_at timestamptz not null default clock_timestamp()
);

create table channel (
  id text primary key,
  name text not null unique,
  adapter text not null,
  base_url text not null,
  credential text not null,
  groups text[] not null,
  priority int not null default 1 check (priority >= 0),
  weight int not null default 1 check (weight >= 0),
  enabled boolean not null default true,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp()
);

create table channel_health (
  channel_id text not null references channel (id) on delete cascade,
  model_id text not null,
  closed_until timestamptz,
  reason text,
  updated_at timestamptz not null default clock_timestamp(),
  primary key (channel_id, model_id)
);
`;

const tasks = `
create table task (
  id text primary key,
  project_id text not null references project (id),
  key_id text not null references api_key (id),
  request_id text not null,
  dialect text not null default 'openai',
  type text not null check (type in ('image', 'video')),
  model_id text not null,
  status text not null default 'queued' check (status in ('queued', 'processing', 'succeeded', 'failed', 'canceled')),
  -- open: written, not yet decided; reserved: credits are held; rejected: never admitted, invisible, purged later.
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
  created_at timestamptz not null default clock_timestamp(),
  started_at timestamptz,
  completed_at timestamptz,
  deadline_at timestamptz not null,
  expires_at timestamptz,
  workflow_started_at timestamptz,
  start_claimed_until timestamptz,
  last_seen_at timestamptz not null default clock_timestamp(),
  cancel_requested_at timestamptz,
  check ((status in ('succeeded', 'failed', 'canceled')) = (completed_at is not null)),
  check (status <> 'succeeded' or output is not null or expires_at is not null)
) with (fillfactor = 60);
create index task_project_idx on task (project_id, id desc);
create index task_open_idx on task (created_at) where admission = 'open';
create index task_unstarted_idx on task (created_at)
  where admission = 'reserved' and workflow_started_at is null and completed_at is null;
create index task_live_idx on task (deadline_at) where completed_at is null and admission <> 'rejected';
create index task_unknown_idx on task (id desc) where outcome_unknown;

create table attempt (
  id text primary key,
  request_id text not null,
  n int not null check (n > 0),
  channel_id text not null,
  channel_name text not null,
  -- Every later write needs the fence; who resumes an attempt takes a new one.
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
  unique (request_id, n),
  unique (request_id, channel_id),
  check ((outcome is null) = (ended_at is null))
) with (fillfactor = 60);

create table idempotency (
  project_id text not null references project (id),
  route text not null,
  key text not null,
  fingerprint text not null,
  request_id text not null,
  task_id text,
  status int,
  body text,
  created_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null,
  primary key (project_id, route, key)
);
create index idempotency_expires_idx on idempotency (expires_at);
create index idempotency_task_idx on idempotency (task_id) where task_id is not null;

create table file (
  id text primary key,
  project_id text not null references project (id),
  task_id text,
  purpose text not null check (purpose in ('output', 'input', 'upload')),
  storage_key text not null unique,
  mime_type text not null,
  bytes bigint not null,
  sha256 text not null,
  width int,
  height int,
  duration double precision,
  created_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null,
  deleted_at timestamptz
);
create index file_task_idx on file (task_id) where task_id is not null;
create index file_expires_idx on file (expires_at) where deleted_at is null;
`;

const deliveries = `
create table delivery (
  id text primary key,
  task_id text not null references task (id),
  project_id text not null references project (id),
  -- The webhook-id: equal over retries, new on a manual redelivery.
  event_id text not null unique,
  url text not null,
  state text not null default 'pending' check (state in ('pending', 'delivered', 'exhausted', 'gone', 'blocked')),
  attempts int not null default 0,
  last_status int,
  next_attempt_at timestamptz,
  lease_until timestamptz,
  lease_token text,
  kicked_at timestamptz,
  body text,
  created_at timestamptz not null default clock_timestamp(),
  ended_at timestamptz
) with (fillfactor = 60);
create index delivery_task_idx on delivery (task_id, created_at desc);
create index delivery_due_idx on delivery (next_attempt_at) where state = 'pending';

create table delivery_attempt (
  delivery_id text not null references delivery (id),
  n int not null,
  started_at timestamptz not null default clock_timestamp(),
  ended_at timestamptz,
  status int,
  error_class text,
  primary key (delivery_id, n)
);
`;

const operators = `
create table audit_entry (
  id bigint generated always as identity primary key,
  at timestamptz not null default clock_timestamp(),
  actor text not null,
  action text not null,
  subject text not null,
  detail jsonb not null default '{}'
);
`;

/** Caches listen to these; never fired by admission or settlement, for NOTIFY serialises commits. */
const notifications = `
create function notify_change() returns trigger language plpgsql as $$
begin
  perform pg_notify('tollgate_change', tg_table_name);
  return null;
end $$;
create trigger model_changed after insert or update or delete on model for each statement execute function notify_change();
create trigger channel_changed after insert or update or delete on channel for each statement execute function notify_change();
create trigger channel_health_changed after insert or update or delete on channel_health
  for each statement execute function notify_change();
create trigger project_changed after update of status on project for each statement execute function notify_change();
create trigger api_key_changed after update of models, rpm, in_flight_max, budget, expires_at, revoked_at on api_key
  for each statement execute function notify_change();
create trigger api_key_secret_changed after update or delete on api_key_secret
  for each statement execute function notify_change();
`;
