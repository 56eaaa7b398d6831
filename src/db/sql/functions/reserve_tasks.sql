-- Holds the quoted credits of each task, in the given order. The verdict is stored in the task and is final: 'reserved', or
-- 'rejected' with refusal_code. A rejected task holds no credits and frees its idempotency key in the same transaction.
-- Called again, it returns the stored verdict. remaining_ms is the time to the deadline by the clock of the database.
-- A task without an Idempotency-Key is decided within six seconds or not at all (UNKEYED_DECIDE_SECONDS in src/db/tasks/tasks.ts): after that its client has
-- received 503 and could not find it, so it must not run.
-- by_workflow: the caller is the task's workflow, which is thereby known to have started.
--
-- The verdicts equal those of the tasks reserved one after another. Balances are read once and written once per account and key. A
-- task that is given twice is returned once.
create or replace function reserve_tasks(ids text[], by_workflow boolean, in_flight_max_per_project int)
returns table (task_id text, admitted boolean, refusal_code text, remaining_ms float8, status text)
language plpgsql
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  t record;
  code text;
  -- The accounts and keys by their places, and what this call has held of each so far.
  projects text[] := '{}';
  keys text[] := '{}';
  held_by_project bigint[] := '{}';
  held_by_key bigint[] := '{}';
  begun_by_project int[] := '{}';
  begun_by_key int[] := '{}';
  -- What was left of grants that had ended when this call began to decide.
  ended_by_project bigint[] := '{}';
  today date := (clock_timestamp() at time zone 'UTC')::date;
  -- As in admit_chats.
  decided_at timestamptz;
  began timestamptz;
  -- Today, or the later day on which one of the keys was used.
  latest_day date := today;
  month_first date;
  p int;
  k int;
  reserved_ids text[] := '{}';
  seen_ids text[] := '{}';
  rejected_ids text[] := '{}';
  codes text[] := '{}';
begin
  -- Not "exists (... and admission = 'open')": the planner would read task_open_idx for it, with all of its dead entries.
  if 'open' = any (array(select task.admission from task where id = any (ids))) then
    perform lock_accounts(array(select task.project_id from task where task.id = any (ids)));
  end if;
  decided_at := clock_timestamp();
  perform from task where id = any (ids) order by id for no key update;

  for t in
    select stored.id, stored.project_id, stored.key_id, stored.admission, stored.refusal_code, stored.status, stored.completed_at,
      stored.credits_quoted, stored.deadline_at, stored.created_at, a.balance + a.overdraft as balance, a.grant_due_at <= decided_at as any_ended, a.in_flight, k.room, k.used_on,
      k.in_flight_max - k.in_flight as places, pr.status = 'active' as is_active, k.revoked_at is not null as is_revoked, k.expires_at
    from unnest(ids) with ordinality as asked (id, ord)
    cross join lateral (select * from task where task.id = asked.id offset 0) stored
    left join lateral (select * from credit_account where project_id = stored.project_id and stored.admission = 'open' offset 0) a on true
    left join lateral (select *, key_room(api_key, today) as room from api_key where id = stored.key_id and stored.admission = 'open' offset 0) k on true
    left join lateral (select * from project where id = stored.project_id and stored.admission = 'open' offset 0) pr on true
    order by asked.ord
  loop
    task_id := t.id;
    admitted := t.admission = 'reserved';
    refusal_code := t.refusal_code;
    status := t.status;
    remaining_ms := extract(epoch from t.deadline_at - clock_timestamp()) * 1000;

    if t.admission = 'open' then
      p := array_position(projects, t.project_id);
      if p is null then
        projects := projects || t.project_id;
        held_by_project := held_by_project || 0::bigint;
        begun_by_project := begun_by_project || 0;
        ended_by_project := ended_by_project || case when t.any_ended then expire_grants(t.project_id, decided_at) else 0 end;
        p := cardinality(projects);
      end if;
      k := array_position(keys, t.key_id);
      if k is null then
        keys := keys || t.key_id;
        held_by_key := held_by_key || 0::bigint;
        begun_by_key := begun_by_key || 0;
        k := cardinality(keys);
      end if;
      code := case
        when t.is_active is not true or t.is_revoked or t.expires_at <= clock_timestamp() then 'invalid_api_key'
        when remaining_ms <= 0 then 'service_unavailable'
        when t.created_at < clock_timestamp() - interval '6 seconds' and not exists (select from idempotency i where i.task_id = t.id)
          then 'service_unavailable'
        when t.in_flight + begun_by_project[p] >= in_flight_max_per_project or t.places <= begun_by_key[k]
          then 'concurrency_limit_exceeded'
        when t.balance - ended_by_project[p] - held_by_project[p] < t.credits_quoted then 'insufficient_credits'
        when t.room - held_by_key[k] < t.credits_quoted then 'key_budget_exceeded'
      end;
      if code is null then
        held_by_project[p] := held_by_project[p] + t.credits_quoted;
        begun_by_project[p] := begun_by_project[p] + 1;
        held_by_key[k] := held_by_key[k] + t.credits_quoted;
        begun_by_key[k] := begun_by_key[k] + 1;
        latest_day := greatest(latest_day, t.used_on);
        reserved_ids := reserved_ids || t.id;
        admitted := true;
      else
        rejected_ids := rejected_ids || t.id;
        codes := codes || code;
        refusal_code := code;
        status := 'failed';
      end if;
    elsif by_workflow and t.admission = 'reserved' and t.completed_at is null then
      seen_ids := seen_ids || t.id;
    end if;
    return next;
  end loop;

  if reserved_ids <> '{}' then
    -- As in admit_chats.
    began := within_day(latest_day, decided_at);
    month_first := date_trunc('month', latest_day::timestamp)::date;
    with accounts as (
      update credit_account a set balance = a.balance - u.held, reserved = a.reserved + u.held, in_flight = a.in_flight + u.begun
      from unnest(projects, held_by_project, begun_by_project) as u (id, held, begun)
      where a.project_id = u.id and a.project_id = any (projects) and u.begun > 0
    ), used as (
      update api_key k set reserved = k.reserved + u.held, in_flight = k.in_flight + u.begun, used_on = latest_day,
        day_spent = in_period(k.day_spent, k.used_on, latest_day),
        day_reserved = in_period(k.day_reserved, k.used_on, latest_day) + u.held,
        month_spent = in_period(k.month_spent, k.used_on, month_first),
        month_reserved = in_period(k.month_reserved, k.used_on, month_first) + u.held,
        last_used_at = case when k.last_used_at > clock_timestamp() - interval '1 minute' then k.last_used_at else clock_timestamp() end
      from unnest(keys, held_by_key, begun_by_key) as u (id, held, begun)
      where k.id = u.id and k.id = any (keys) and u.begun > 0
    ), decided as (
      update task set admission = 'reserved', credits_reserved = task.credits_quoted, last_seen_at = clock_timestamp(),
        workflow_started_at = case when by_workflow then clock_timestamp() end
      where task.id = any (reserved_ids)
      returning task.id, task.project_id, task.key_id, task.model_id, task.credits_quoted, task.deadline_at
    )
    insert into hold (id, project_id, key_id, kind, model_id, amount, expires_at, created_at)
    select d.id, d.project_id, d.key_id, 'media', d.model_id, d.credits_quoted, d.deadline_at, began from decided d;
  end if;
  if rejected_ids <> '{}' then
    update task set admission = 'rejected', refusal_code = u.code, status = 'failed', completed_at = clock_timestamp(), input = null
    from unnest(rejected_ids, codes) as u (id, code) where task.id = u.id and task.id = any (rejected_ids);
    delete from idempotency i where i.task_id = any (rejected_ids);
  end if;
  if seen_ids <> '{}' then
    update task set workflow_started_at = coalesce(task.workflow_started_at, clock_timestamp()), last_seen_at = clock_timestamp()
    where task.id = any (seen_ids);
  end if;
end $$;
