import { Migration } from '@mikro-orm/migrations';

/** Job runs, API detail rows, monthly summaries, checkpoints of the ledger, and what retention deletes. */
export class Migration0007Jobs extends Migration {
  override name = '0007-jobs';

  override up(): void {
    for (const sql of [
      jobs,
      beginJob,
      details,
      detailPartitions,
      summaries,
      rebuildSummary,
      checkpoints,
      writeCheckpoint,
    ])
      this.addSql(sql);
    for (const sql of [retentionIndexes, eraseContents, claimExpiredFiles, purgeTasks]) this.addSql(sql);
  }
}

const jobs = `
create table job_run (
  id text primary key,
  name text not null,
  trigger text not null check (trigger in ('schedule', 'endpoint', 'loop', 'operator')),
  -- requested: its Schedule was asked to run it; lost: whoever ran it is gone.
  state text not null check (state in ('requested', 'running', 'succeeded', 'failed', 'lost')),
  requested_at timestamptz not null default clock_timestamp(),
  started_at timestamptz,
  lease_until timestamptz not null,
  ended_at timestamptz,
  summary jsonb,
  check ((state in ('requested', 'running')) = (ended_at is null))
);
-- The lock of a job: at most one of each name is under way.
create unique index job_run_active_idx on job_run (name) where ended_at is null;
create index job_run_recent_idx on job_run (name, requested_at desc);
`;

/**
 * Takes a job's lock, or says who holds it. p_request only asks for a run, which the next begin of this name then takes
 * over under the id that was promised. A run whose lease is over is lost and makes room. Verdicts: requested, running,
 * already_running.
 */
const beginJob = `
create function begin_job(p_name text, p_id text, p_trigger text, p_lease_seconds float8, p_request boolean)
returns table (verdict text, run_id text) language plpgsql as $$
#variable_conflict use_column
declare
  active job_run;
begin
  perform pg_advisory_xact_lock(7107, hashtext(p_name));
  update job_run set state = 'lost', ended_at = clock_timestamp()
  where name = p_name and ended_at is null and lease_until <= clock_timestamp();
  select * into active from job_run where name = p_name and ended_at is null;
  if not found then
    insert into job_run (id, name, trigger, state, started_at, lease_until)
    values (p_id, p_name, p_trigger, case when p_request then 'requested' else 'running' end,
            case when not p_request then clock_timestamp() end, clock_timestamp() + make_interval(secs => p_lease_seconds));
    verdict := case when p_request then 'requested' else 'running' end;
    run_id := p_id;
  elsif active.state = 'requested' and not p_request then
    update job_run set state = 'running', started_at = clock_timestamp(),
      lease_until = clock_timestamp() + make_interval(secs => p_lease_seconds)
    where id = active.id;
    verdict := 'running';
    run_id := active.id;
  else
    verdict := 'already_running';
    run_id := active.id;
  end if;
  return next;
end $$;
`;

const details = `
-- One row per answered request, never what was said in it. Rows may be lost: nothing is billed or summed up from here.
create table api_detail (
  at timestamptz not null,
  request_id text not null,
  method text not null,
  route text not null,
  key_id text,
  project_id text,
  model_id text,
  status int not null,
  ms int not null,
  credits bigint,
  attempts int,
  primary key (request_id, at)
) partition by range (at);
create index api_detail_project_idx on api_detail (project_id, at desc);
`;

const detailPartitions = `
create function api_detail_partition(p_day date) returns text language sql immutable as $$
  select 'api_detail_' || to_char(p_day, 'YYYYMMDD');
$$;

/* Yesterday's too: a row may be written just after midnight. Returns how many days were missing. */
create function ensure_api_detail_partitions() returns int language plpgsql as $$
declare
  today date := (clock_timestamp() at time zone 'UTC')::date;
  made int := 0;
begin
  if not exists (select from generate_series(-1, 1) n where to_regclass(api_detail_partition(today + n)) is null) then
    return 0;
  end if;
  perform pg_advisory_xact_lock(7107, hashtext('api_detail'));
  for n in -1..1 loop
    if to_regclass(api_detail_partition(today + n)) is null then
      execute format('create table %I partition of api_detail for values from (%L) to (%L)', api_detail_partition(today + n),
                     to_char(today + n, 'YYYY-MM-DD') || ' 00:00:00+00', to_char(today + n + 1, 'YYYY-MM-DD') || ' 00:00:00+00');
      made := made + 1;
    end if;
  end loop;
  return made;
end $$;

/* Drops the oldest day that is wholly older than p_days, if there is one: one day per transaction. */
create function drop_api_detail_partition(p_days int) returns table (dropped text, detail_rows bigint) language plpgsql as $$
#variable_conflict use_column
begin
  perform pg_advisory_xact_lock(7107, hashtext('api_detail'));
  select c.relname::text into dropped from pg_inherits i join pg_class c on c.oid = i.inhrelid
  where i.inhparent = 'api_detail'::regclass and c.relname ~ '^api_detail_[0-9]{8}$'
    and c.relname < api_detail_partition((clock_timestamp() at time zone 'UTC')::date - p_days)
  order by c.relname limit 1;
  if dropped is null then return; end if;
  execute format('select count(*) from %I', dropped) into detail_rows;
  execute format('drop table %I', dropped);
  return next;
end $$;
`;

const summaries = `
create table summary_month (
  month text primary key check (month ~ '^[0-9]{4}-[0-9]{2}$'),
  -- The rows hold the month's entries up to this one.
  through_entry_id bigint not null,
  -- What a credit was worth when the margins were worked out.
  credit_value_micro_usd bigint not null,
  built_at timestamptz not null,
  frozen_at timestamptz
);

create table monthly_summary (
  month text not null references summary_month (month),
  project_id text not null,
  -- Empty where there is none: a project's own adjustment, a failure without any attempt.
  model_id text not null,
  channel_id text not null,
  requests bigint not null,
  successes bigint not null,
  failures bigint not null,
  credits_charged bigint not null,
  cost_micro_usd bigint not null,
  margin_micro_usd bigint not null,
  input_tokens bigint not null,
  output_tokens bigint not null,
  primary key (month, project_id, model_id, channel_id)
);

create index ledger_entry_created_idx on ledger_entry using brin (created_at) with (pages_per_range = 32, autosummarize = on);
create index attempt_started_idx on attempt using brin (started_at) with (pages_per_range = 32, autosummarize = on);
`;

/**
 * Rebuilds one UTC month from ledger, reservations and attempts, or leaves it alone when it is frozen. A request counts in
 * the month of the entry that ended it, on the channel that won it, a failed one on the last channel tried. Revenue is what
 * settle and adjust entries took, each in its own month; cost is each attempt's, on its own channel, in the month it began:
 * the provider bills on accept. Entries younger than the lag wait for the next time: their neighbours may not be committed.
 */
const rebuildSummary = `
create function rebuild_summary(p_month text, p_credit_value bigint, p_lag_seconds float8, p_freeze_days int)
returns text language plpgsql as $$
declare
  first timestamptz := (p_month || '-01')::timestamp at time zone 'UTC';
  past timestamptz := ((p_month || '-01')::timestamp + interval '1 month') at time zone 'UTC';
  through bigint;
  over boolean;
begin
  perform pg_advisory_xact_lock(7107, hashtext('monthly_summary'));
  if exists (select from summary_month where month = p_month and frozen_at is not null) then return 'frozen_before'; end if;
  over := clock_timestamp() >= past + make_interval(days => p_freeze_days);
  select coalesce(max(id), 0) into through from ledger_entry where created_at <= clock_timestamp() - make_interval(secs => p_lag_seconds);

  delete from monthly_summary where month = p_month;
  insert into summary_month (month, through_entry_id, credit_value_micro_usd, built_at, frozen_at)
  values (p_month, through, p_credit_value, clock_timestamp(), case when over then clock_timestamp() end)
  on conflict (month) do update set through_entry_id = excluded.through_entry_id, built_at = excluded.built_at,
    credit_value_micro_usd = excluded.credit_value_micro_usd, frozen_at = excluded.frozen_at;

  insert into monthly_summary (month, project_id, model_id, channel_id, requests, successes, failures, credits_charged,
                               cost_micro_usd, margin_micro_usd, input_tokens, output_tokens)
  select p_month, project_id, model_id, channel_id, sum(successes + failures), sum(successes), sum(failures), sum(credits), sum(cost),
         sum(credits) * p_credit_value - sum(cost), sum(input_tokens), sum(output_tokens)
  from (
    select e.project_id, coalesce(r.model_id, '') as model_id,
      coalesce(r.channel_id,
               case when e.kind = 'refund' then (select a.channel_id from attempt a where a.request_id = r.id order by a.n desc limit 1) end,
               '') as channel_id,
      (e.kind = 'settle')::int as successes, (e.kind = 'refund')::int as failures,
      case when e.kind = 'refund' then 0 else -(e.d_balance + e.d_reserved) end as credits, 0::bigint as cost,
      case when e.kind = 'settle' then coalesce(r.input_tokens, 0) else 0 end as input_tokens,
      case when e.kind = 'settle' then coalesce(r.output_tokens, 0) else 0 end as output_tokens
    from ledger_entry e left join reservation r on r.id = e.reservation_id
    where e.created_at >= first and e.created_at < past and e.id <= through and e.kind in ('settle', 'refund', 'adjust')
    union all
    select r.project_id, r.model_id, a.channel_id, 0, 0, 0, a.cost_micro_usd, 0, 0
    from attempt a join reservation r on r.id = a.request_id
    where a.started_at >= first and a.started_at < past and a.cost_micro_usd <> 0
      -- Nothing was bought by what was refused, and by what ended before the provider had taken it.
      and (a.outcome in ('ok', 'unknown') or (a.operation is not null and (a.outcome is null or a.outcome = 'canceled')))
  ) facts
  group by 2, 3, 4;
  return case when over then 'frozen' else 'rebuilt' end;
end $$;
`;

const checkpoints = `
-- What began or ended lately, for a proof that starts from a checkpoint.
create index reservation_time_idx on reservation using brin (created_at, ended_at) with (pages_per_range = 32, autosummarize = on);

create table ledger_checkpoint (
  id bigint generated always as identity primary key,
  through_entry_id bigint not null,
  -- Everything that ended before this has its entries at or below through_entry_id.
  covers_until timestamptz not null,
  created_at timestamptz not null default clock_timestamp()
);

create table ledger_checkpoint_account (
  checkpoint_id bigint not null references ledger_checkpoint (id) on delete cascade,
  project_id text not null,
  d_balance bigint not null,
  d_reserved bigint not null,
  primary key (checkpoint_id, project_id)
);

create table ledger_checkpoint_key (
  checkpoint_id bigint not null references ledger_checkpoint (id) on delete cascade,
  key_id text not null,
  spent bigint not null,
  primary key (checkpoint_id, key_id)
);
`;

/** Adds the entries since the last checkpoint to its sums. Null when there are none. Keeps the last p_kept. */
const writeCheckpoint = `
create function write_ledger_checkpoint(p_lag_seconds float8, p_kept int) returns bigint language plpgsql as $$
declare
  until timestamptz;
  earlier bigint;
  since bigint := 0;
  through bigint;
  made bigint;
begin
  perform pg_advisory_xact_lock(7107, hashtext('ledger_checkpoint'));
  until := clock_timestamp() - make_interval(secs => p_lag_seconds);
  select id, through_entry_id into earlier, since from ledger_checkpoint order by id desc limit 1;
  since := coalesce(since, 0);
  select max(id) into through from ledger_entry where created_at <= until;
  if through is null or through <= since then return null; end if;
  insert into ledger_checkpoint (through_entry_id, covers_until) values (through, until) returning id into made;
  insert into ledger_checkpoint_account (checkpoint_id, project_id, d_balance, d_reserved)
  select made, project_id, sum(b), sum(r) from (
    select project_id, d_balance as b, d_reserved as r from ledger_checkpoint_account where checkpoint_id = earlier
    union all
    select project_id, d_balance, d_reserved from ledger_entry where id > since and id <= through) sums group by project_id;
  insert into ledger_checkpoint_key (checkpoint_id, key_id, spent)
  select made, key_id, sum(spent) from (
    select key_id, spent from ledger_checkpoint_key where checkpoint_id = earlier
    union all
    select key_id, -(d_balance + d_reserved) from ledger_entry
    where id > since and id <= through and kind in ('settle', 'adjust') and key_id is not null) sums group by key_id;
  delete from ledger_checkpoint where id not in (select id from ledger_checkpoint order by id desc limit p_kept);
  return made;
end $$;
`;

const retentionIndexes = `
create index task_content_idx on task (expires_at)
  where completed_at is not null and (input is not null or output is not null);
create index task_completed_idx on task (completed_at) where completed_at is not null;
create index task_rejected_idx on task (completed_at) where admission = 'rejected';
create index file_deleted_idx on file (id) where deleted_at is not null;
create index delivery_attempt_started_idx on delivery_attempt using brin (started_at) with (pages_per_range = 32, autosummarize = on);
`;

/**
 * Erases what clients sent and got, of tasks whose time is over: input, output, where the results lay, and callback bodies.
 * A task whose callback is still on its way waits until that has ended.
 */
const eraseContents = `
create function erase_contents(p_limit int) returns table (tasks int, bodies int) language plpgsql as $$
#variable_conflict use_column
declare
  due text[];
begin
  select array_agg(id) into due from (
    select t.id from task t
    where t.completed_at is not null and (t.input is not null or t.output is not null) and t.expires_at <= clock_timestamp()
      and not exists (select from delivery d where d.task_id = t.id and d.state = 'pending')
    order by t.expires_at limit p_limit for no key update skip locked) expired;
  update delivery set body = null where task_id = any (due) and body is not null;
  get diagnostics bodies = row_count;
  update attempt set result = null, outputs = null where request_id = any (due) and (result is not null or outputs is not null);
  update task set input = null, output = null where id = any (due);
  get diagnostics tasks = row_count;
  return next;
end $$;
`;

/**
 * Marks files whose time is over, so that nobody finds or prolongs them any more; their bytes go next. One that a live task
 * names stays, whoever stored it.
 */
const claimExpiredFiles = `
create function claim_expired_files(p_limit int) returns int language plpgsql as $$
declare
  claimed int;
begin
  with live as materialized (
    select t.id, t.input from task t where t.completed_at is null and t.admission <> 'rejected'
  ), in_use as materialized (
    select distinct named.value #>> '{}' as id from live
    cross join lateral jsonb_path_query(live.input, 'strict $.** ? (@.type() == "string" && @ starts with "file_")') named (value)
  ), due as (
    select f.id from file f
    where f.deleted_at is null and f.expires_at <= clock_timestamp()
      and not exists (select from in_use where in_use.id = f.id)
      and not exists (select from live where live.id = f.task_id)
    order by f.expires_at limit p_limit for update skip locked
  )
  update file set deleted_at = clock_timestamp() from due where file.id = due.id;
  get diagnostics claimed = row_count;
  return claimed;
end $$;
`;

/** Deletes ended tasks with their deliveries and attempts; never an attempt of a month that is not frozen. */
const purgeTasks = `
create function is_summarised(p_at timestamptz) returns boolean language sql stable as $$
  select exists (select from summary_month where month = to_char(p_at at time zone 'UTC', 'YYYY-MM') and frozen_at is not null);
$$;

create function purge_tasks(p_seconds float8, p_limit int) returns int language plpgsql as $$
declare
  due text[];
  purged int;
begin
  select array_agg(id) into due from (
    select t.id from task t
    where t.completed_at < clock_timestamp() - make_interval(secs => p_seconds) and t.admission <> 'rejected'
      and not exists (select from delivery d where d.task_id = t.id and d.state = 'pending')
      and not exists (select from attempt a where a.request_id = t.id and not is_summarised(a.started_at))
    order by t.completed_at limit p_limit for update skip locked) over;
  if due is null then return 0; end if;
  delete from delivery_attempt where delivery_id in (select id from delivery where task_id = any (due));
  delete from delivery where task_id = any (due);
  delete from attempt where request_id = any (due);
  delete from task where id = any (due);
  get diagnostics purged = row_count;
  return purged;
end $$;

/* Nobody was ever told of these: they have neither attempts nor deliveries. */
create function purge_rejected_tasks(p_seconds float8, p_limit int) returns int language plpgsql as $$
declare
  purged int;
begin
  delete from task where id in (
    select id from task where admission = 'rejected' and completed_at < clock_timestamp() - make_interval(secs => p_seconds)
    order by completed_at limit p_limit for update skip locked);
  get diagnostics purged = row_count;
  return purged;
end $$;

/* A chat has no row of its own but its reservation, which stays; its attempts are told apart by their model. */
create function purge_chat_attempts(p_seconds float8, p_limit int) returns int language plpgsql as $$
declare
  purged int;
begin
  delete from attempt where id in (
    select a.id from attempt a
    where a.model_id is not null and a.outcome is not null
      and a.started_at < clock_timestamp() - make_interval(secs => p_seconds) and is_summarised(a.started_at)
    limit p_limit for update skip locked);
  get diagnostics purged = row_count;
  return purged;
end $$;
`;
