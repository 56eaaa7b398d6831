-- Holds the quoted credits of each task, in the given order. The verdict is stored in the task and is final: 'reserved', or
-- 'rejected' with refusal_code. A rejected task holds no credits and frees its idempotency key in the same transaction.
-- Called again, it returns the stored verdict. remaining_ms is the time to the deadline by the clock of the database.
-- by_workflow: the caller is the task's workflow, which is thereby known to have started.
create or replace function reserve_tasks(ids text[], by_workflow boolean, in_flight_max_per_project int)
returns table (task_id text, admitted boolean, refusal_code text, remaining_ms float8, status text)
language plpgsql
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  t record;
  account credit_account;
  k api_key;
  project_status text;
  code text;
begin
  -- Not "exists (... and admission = 'open')": the planner would read task_open_idx for it, with all of its dead entries.
  if 'open' = any (array(select task.admission from task where id = any (ids))) then
    perform lock_money(array_agg(distinct project_id), array_agg(distinct key_id)) from task where id = any (ids);
  end if;
  perform from task where id = any (ids) order by id for no key update;

  for t in
    select stored.* from unnest(ids) with ordinality as given (id, ord)
    cross join lateral (select * from task where task.id = given.id offset 0) stored order by ord
  loop
    task_id := t.id;
    admitted := t.admission = 'reserved';
    refusal_code := t.refusal_code;
    status := t.status;
    remaining_ms := extract(epoch from t.deadline_at - clock_timestamp()) * 1000;

    if t.admission = 'open' then
      select * into account from credit_account a where a.project_id = t.project_id;
      select * into k from api_key where id = t.key_id;
      select p.status into project_status from project p where p.id = t.project_id;
      code := case
        when project_status <> 'active' or k.revoked_at is not null or k.expires_at <= clock_timestamp()
          then 'invalid_api_key'
        when remaining_ms <= 0 then 'service_unavailable'
        when account.in_flight >= in_flight_max_per_project or k.in_flight >= k.in_flight_max
          then 'concurrency_limit_exceeded'
        when account.balance < t.credits_quoted then 'insufficient_credits'
        when k.budget - k.spent - k.reserved < t.credits_quoted then 'key_budget_exceeded'
      end;
      if code is null then
        update credit_account a
        set balance = a.balance - t.credits_quoted, reserved = a.reserved + t.credits_quoted, in_flight = a.in_flight + 1
        where a.project_id = t.project_id;
        update api_key set reserved = reserved + t.credits_quoted, in_flight = in_flight + 1,
          last_used_at = case when last_used_at > clock_timestamp() - interval '1 minute' then last_used_at else clock_timestamp() end
        where id = t.key_id;
        insert into hold (id, project_id, key_id, kind, model_id, amount, expires_at)
        values (t.id, t.project_id, t.key_id, 'media', t.model_id, t.credits_quoted, t.deadline_at);
        update task set admission = 'reserved', credits_reserved = t.credits_quoted, last_seen_at = clock_timestamp(),
          workflow_started_at = case when by_workflow then clock_timestamp() end
        where task.id = t.id;
        admitted := true;
      else
        update task set admission = 'rejected', refusal_code = code, status = 'failed', completed_at = clock_timestamp(),
          input = null
        where task.id = t.id;
        delete from idempotency i where i.task_id = t.id;
        refusal_code := code;
        status := 'failed';
      end if;
    elsif by_workflow and t.admission = 'reserved' and t.completed_at is null then
      update task set workflow_started_at = coalesce(task.workflow_started_at, clock_timestamp()), last_seen_at = clock_timestamp()
      where task.id = t.id;
    end if;
    return next;
  end loop;
end $$;
