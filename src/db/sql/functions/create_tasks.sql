-- Writes task rows with their idempotency rows, or nothing.
--
-- Verdicts: created, replay (original_task_id is the first task), reused (same key, other request), or a refusal code.
-- A member whose credits the account or the budget cannot cover leaves no row. That check takes no lock: reserve_tasks decides.
-- Called again for a task that was rejected in the meantime, it returns the reason and frees the idempotency key, because only
-- an accepted request binds a key.
--
-- Idempotency rows are looked up one by one by their primary key: the plan of a join depends on the size of the table at
-- planning time, and the session keeps that plan while the table grows.
create or replace function create_tasks(members jsonb)
returns table (task_id text, verdict text, original_task_id text)
language plpgsql
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  member jsonb;
  existing record;
  earlier record;
  funds record;
begin
  -- In the order of their keys, so that two batches with the same keys wait for each other instead of deadlocking.
  for member in
    select m from jsonb_array_elements(members) m where m->>'idempotency_key' is not null
    order by m->>'project_id', m->>'route', m->>'idempotency_key'
  loop
    delete from idempotency i
    where i.project_id = member->>'project_id' and i.route = member->>'route' and i.key = member->>'idempotency_key'
      and i.expires_at <= clock_timestamp();
  end loop;
  insert into idempotency (project_id, route, key, fingerprint, request_id, task_id, expires_at)
  select m->>'project_id', m->>'route', m->>'idempotency_key', m->>'fingerprint', m->>'request_id', m->>'task_id',
         clock_timestamp() + make_interval(secs => (m->>'idempotency_seconds')::float8)
  from jsonb_array_elements(members) with ordinality as given (m, ord)
  where m->>'idempotency_key' is not null
  order by m->>'project_id', m->>'route', m->>'idempotency_key', ord
  on conflict do nothing;

  for member in select m from jsonb_array_elements(members) with ordinality as given (m, ord) order by ord loop
    task_id := member->>'task_id';
    original_task_id := null;
    if member->>'idempotency_key' is not null then
      select i.fingerprint, i.task_id into existing from idempotency i
      where i.project_id = member->>'project_id' and i.route = member->>'route' and i.key = member->>'idempotency_key';
      if not found then
        -- An earlier member of this batch with the same key was refused and took its row along.
        insert into idempotency (project_id, route, key, fingerprint, request_id, task_id, expires_at)
        values (member->>'project_id', member->>'route', member->>'idempotency_key', member->>'fingerprint',
                member->>'request_id', task_id,
                clock_timestamp() + make_interval(secs => (member->>'idempotency_seconds')::float8));
      elsif existing.task_id is distinct from task_id then
        if existing.fingerprint = member->>'fingerprint' then
          verdict := 'replay';
          original_task_id := existing.task_id;
        else
          verdict := 'reused';
        end if;
        return next;
        continue;
      end if;
    end if;

    select t.admission, t.refusal_code into earlier from task t where t.id = member->>'task_id';
    if found then
      verdict := case when earlier.admission = 'rejected' then coalesce(earlier.refusal_code, 'service_unavailable') else 'created' end;
      if earlier.admission = 'rejected' and member->>'idempotency_key' is not null then
        delete from idempotency i
        where i.project_id = member->>'project_id' and i.route = member->>'route' and i.key = member->>'idempotency_key'
          and i.task_id = member->>'task_id';
      end if;
      return next;
      continue;
    end if;

    select a.balance, k.budget, k.spent, k.reserved into funds
    from credit_account a join api_key k on k.project_id = a.project_id
    where a.project_id = member->>'project_id' and k.id = member->>'key_id';
    if not found or funds.balance < (member->>'credits')::bigint then
      verdict := 'insufficient_credits';
    elsif funds.budget is not null and funds.budget - funds.spent - funds.reserved < (member->>'credits')::bigint then
      verdict := 'key_budget_exceeded';
    else
      insert into task (id, project_id, key_id, request_id, dialect, type, model_id, input, snapshot, credits_quoted,
                        callback_url, deadline_at)
      values (member->>'task_id', member->>'project_id', member->>'key_id', member->>'request_id', member->>'dialect',
              member->>'type', member->>'model_id', member->'input', member->'snapshot', (member->>'credits')::bigint,
              member->>'callback_url',
              clock_timestamp() + make_interval(secs => (member->>'deadline_seconds')::float8));
      verdict := 'created';
    end if;
    if verdict <> 'created' and member->>'idempotency_key' is not null then
      delete from idempotency i
      where i.project_id = member->>'project_id' and i.route = member->>'route' and i.key = member->>'idempotency_key'
        and i.task_id = member->>'task_id';
    end if;
    return next;
  end loop;
end $$;
