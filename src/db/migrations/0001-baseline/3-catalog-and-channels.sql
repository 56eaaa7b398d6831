-- The catalog of models, the channels and their health.

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
  -- Whether the provider's model list decides which mappings are drawn.
  list_check boolean not null default true,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp()
);

-- The circuit breaker of a channel and model. model_id '*' is a cool-down for all models of the channel.
create table channel_health (
  channel_id text not null references channel (id) on delete cascade,
  model_id text not null,
  -- Tripped or cooling down until then.
  unavailable_until timestamptz,
  reason text,
  -- In a row.
  failures int not null default 0,
  -- Trips since the last success: each makes the next one longer.
  trips int not null default 0,
  tripped_at timestamptz,
  -- The end of the running or the last probe.
  probe_until timestamptz,
  -- The project of that probe, until a call succeeds.
  probe_project_id text,
  -- What an operator has to look at; it stays until the next success.
  alarm text,
  alarm_at timestamptz,
  updated_at timestamptz not null default clock_timestamp(),
  primary key (channel_id, model_id)
);

-- A mapping is a model at a channel. One with a state is not drawn for any request, until its state is empty again.
create table channel_mapping_state (
  channel_id text not null references channel (id) on delete cascade,
  model_id text not null,
  -- 'unlisted': the provider's complete model list lacks the model.
  state text check (state in ('unlisted')),
  since timestamptz,
  -- What is wrong, in words for operators.
  reason text,
  -- The last success, to the hour.
  succeeded_at timestamptz,
  primary key (channel_id, model_id),
  check ((state is null) = (since is null))
);

-- Which projects used a channel and model lately, and whose last call there timed out or met a bare 403. One project's requests
-- can cause both, so such a failure counts only if another project confirms it, or if no other project uses the channel.
create table channel_witness (
  channel_id text not null references channel (id) on delete cascade,
  model_id text not null,
  project_id text not null,
  used_at timestamptz not null default clock_timestamp(),
  -- Empty again after a success.
  failed_at timestamptz,
  primary key (channel_id, model_id, project_id)
) with (fillfactor = 70);

-- How the attempts of a channel ended in each minute of the last days and in each hour of the last weeks. The processes add what they
-- saw every few seconds. Nothing is billed from here.
create table channel_history (
  channel_id text not null,
  span text not null check (span in ('minute', 'hour')),
  -- The beginning of the minute or the hour.
  at timestamptz not null,
  ok bigint not null,
  refused bigint not null,
  transient bigint not null,
  unknown bigint not null,
  -- How many successful attempts took how long: the nth number counts those of duration class n - 1 (src/domain/duration-classes.ts).
  durations int[] not null,
  primary key (channel_id, span, at)
) with (fillfactor = 70);

-- Caches of all processes listen to these.
create trigger model_changed after insert or update or delete on model
  for each statement execute function notify_change();
create trigger channel_changed after insert or update or delete on channel
  for each statement execute function notify_change();
create trigger channel_health_changed after insert or update or delete on channel_health
  for each statement execute function notify_change();
-- By row, because a check of a list that changes nothing must not wake every process.
create trigger channel_mapping_state_changed after update on channel_mapping_state
  for each row when (old.state is distinct from new.state) execute function notify_change();
create trigger channel_mapping_state_added after insert on channel_mapping_state
  for each row when (new.state is not null) execute function notify_change();
create trigger channel_mapping_state_removed after delete on channel_mapping_state
  for each row when (old.state is not null) execute function notify_change();
