-- What tells a project that its credits run low.

-- At which credits: whole numbers, or percents of the last top-up such as 20%.
alter table project add column alert_at text[];
alter table project add column alert_url text;
alter table project add column alert_mail text[];

-- Whether the credits of a project are at or below each of its thresholds.
create table balance_alert (
  project_id text not null,
  threshold text not null,
  is_below boolean not null,
  primary key (project_id, threshold)
);

-- Each time when the credits of a project fell to a threshold, and how its webhook and its mail stand. The addresses are those of that time.
create table balance_event (
  id text primary key,
  project_id text not null,
  threshold text not null,
  -- The threshold in credits, and the credits of the project then.
  threshold_credits bigint not null,
  balance bigint not null,
  reserved bigint not null,
  created_at timestamptz not null default clock_timestamp(),
  url text,
  hook_state text check (hook_state in ('pending', 'delivered', 'exhausted', 'gone', 'blocked')),
  hook_tries int not null default 0,
  hook_status int,
  mail_to text[],
  mail_state text check (mail_state in ('pending', 'sent', 'exhausted')),
  mail_tries int not null default 0,
  -- When the webhook or the mail is tried next, or the lease of the process that tries now ends; null when both have ended.
  next_try_at timestamptz
);
create index balance_event_due_idx on balance_event (next_try_at) where next_try_at is not null;
create index balance_event_project_idx on balance_event (project_id, created_at);
