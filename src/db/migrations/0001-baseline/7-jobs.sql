-- Jobs, what operators did, and alarms.

create table job_run (
  id text primary key,
  name text not null,
  trigger text not null check (trigger in ('schedule', 'endpoint', 'loop', 'operator')),
  -- requested: its Schedule was asked to run it; lost: the process that ran it is gone.
  state text not null check (state in ('requested', 'running', 'succeeded', 'failed', 'lost')),
  requested_at timestamptz not null default clock_timestamp(),
  started_at timestamptz,
  lease_until timestamptz not null,
  ended_at timestamptz,
  summary jsonb,
  check ((state in ('requested', 'running')) = (ended_at is null))
);
-- The lock of a job: at most one run of each name is under way.
create unique index job_run_active_idx on job_run (name) where ended_at is null;
create index job_run_recent_idx on job_run (name, requested_at desc);

create table audit_entry (
  id bigint generated always as identity primary key,
  at timestamptz not null default clock_timestamp(),
  actor text not null,
  action text not null,
  subject text not null,
  -- What changed, as it was and as it is; null where there is nothing, before a creation. Both are null for a look at a secret or a content.
  before jsonb,
  after jsonb,
  -- What else is worth knowing, such as the reference of a payment.
  detail jsonb not null default '{}'
);
-- The pages of listAudit. By time, because the planner would read the primary key backwards for an order by id, and find a rare value late.
create index audit_entry_subject_idx on audit_entry (subject, at, id);
create index audit_entry_actor_idx on audit_entry (actor, at, id);
create index audit_entry_action_idx on audit_entry (action, at, id);
create trigger audit_entry_append_only before update or delete on audit_entry
  for each row execute function refuse_change();
create trigger audit_entry_never_emptied before truncate on audit_entry
  for each statement execute function refuse_change();

-- The alarms that fired lately. The processes that log an alarm write it here, for the lists of operators.
create table alarm (
  name text not null,
  -- The channel or the job that it is about, or empty.
  subject text not null,
  message text not null,
  level text not null,
  count bigint not null,
  first_at timestamptz not null,
  last_at timestamptz not null,
  primary key (name, subject)
);

-- What operators do not want to be told until a time. A silence without a subject covers every alarm of its name.
create table alarm_silence (
  id text primary key,
  name text not null,
  subject text not null,
  reason text not null,
  -- The actor in the audit log.
  created_by text not null,
  created_at timestamptz not null default clock_timestamp(),
  until timestamptz not null
);
create trigger alarm_silence_changed after insert or update or delete on alarm_silence
  for each statement execute function notify_change();
