-- Writes task rows with their idempotency rows, or nothing.
--
-- Verdicts: created (with created_at), replay (original_task_id is the first task), reused (same key, other request), or a refusal code.
-- A member whose credits the account or the budget cannot cover leaves no row. That check takes no lock: reserve_tasks decides.
-- Called again for a task that was rejected in the meantime, it returns the reason and frees the idempotency key, because only
-- an accepted request binds a key.
--
-- Idempotency rows are looked up one by one by their primary key: the plan of a join depends on the size of the table at
-- planning time, and the session keeps that plan while the table grows.
create or replace function create_tasks(members jsonb)
returns table (task_id text, verdict text, original_task_id text, created_at timestamptz)
language plpgsql
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  m record;
  existing record;
  earlier record;
  funds record;
begin
  -- In the order of their keys, so that two batches with the same keys wait for each other instead of deadlocking.
  for m in
    select * from jsonb_to_recordset(members) as x (project_id text, route text, key text)
    where x.key is not null order by x.project_id, x.route, x.key
  loop
    delete from idempotency i
    where i.project_id = m.project_id and i.route = m.route and i.key = m.key and i.expires_at <= clock_timestamp();
  end loop;
  insert into idempotency (project_id, route, key, fingerprint, request_id, task_id, expires_at)
  select x.project_id, x.route, x.key, x.fingerprint, x.request_id, x.task_id, clock_timestamp() + make_interval(secs => x.kept_seconds)
  from jsonb_to_recordset(members) as x (
    ord int, project_id text, route text, key text, fingerprint text, request_id text, task_id text, kept_seconds float8)
  where x.key is not null order by x.project_id, x.route, x.key, x.ord
  on conflict do nothing;

  for m in
    select * from jsonb_to_recordset(members) as x (
      ord int, task_id text, project_id text, key_id text, request_id text, dialect text, type text, model_id text, input jsonb,
      snapshot jsonb, credits bigint, callback_url text, metadata jsonb, max_credits bigint,
      deadline_seconds float8, route text, key text, fingerprint text,
      kept_seconds float8, trace_parent text) order by x.ord
  loop
    task_id := m.task_id;
    original_task_id := null;
    created_at := null;
    if m.key is not null then
      select i.fingerprint, i.task_id into existing from idempotency i
      where i.project_id = m.project_id and i.route = m.route and i.key = m.key;
      if not found then
        -- An earlier member of this batch with the same key was refused, and its idempotency row was deleted.
        insert into idempotency (project_id, route, key, fingerprint, request_id, task_id, expires_at)
        values (m.project_id, m.route, m.key, m.fingerprint, m.request_id, task_id,
                clock_timestamp() + make_interval(secs => m.kept_seconds));
      elsif existing.task_id is distinct from task_id then
        verdict := case when existing.fingerprint = m.fingerprint then 'replay' else 'reused' end;
        original_task_id := case when verdict = 'replay' then existing.task_id end;
        return next;
        continue;
      end if;
    end if;

    select t.admission, t.refusal_code, t.created_at into earlier from task t where t.id = m.task_id;
    if found then
      created_at := earlier.created_at;
      verdict := case when earlier.admission = 'rejected' then coalesce(earlier.refusal_code, 'service_unavailable') else 'created' end;
    else
      select a.balance + a.overdraft as balance, key_room(k, (clock_timestamp() at time zone 'UTC')::date) as room into funds
      from credit_account a join api_key k on k.project_id = a.project_id
      where a.project_id = m.project_id and k.id = m.key_id;
      verdict := case
        when not found or funds.balance < m.credits then 'insufficient_credits'
        when funds.room < m.credits then 'key_budget_exceeded'
        else 'created'
      end;
      if verdict = 'created' then
        insert into task (id, project_id, key_id, request_id, dialect, type, model_id, input, snapshot, credits_quoted,
                          callback_url, metadata, max_credits, deadline_at, trace_parent)
        values (m.task_id, m.project_id, m.key_id, m.request_id, m.dialect, m.type, m.model_id, m.input, m.snapshot, m.credits,
                m.callback_url, m.metadata, m.max_credits, clock_timestamp() + make_interval(secs => m.deadline_seconds),
                m.trace_parent)
        returning task.created_at into created_at;
        if m.metadata is not null then
          insert into task_metadata (pair, created_at, task_id)
          select metadata_pair(m.project_id, e.key, e.value), created_at, m.task_id from jsonb_each_text(m.metadata) e
          on conflict do nothing;
        end if;
      end if;
    end if;
    if verdict <> 'created' and m.key is not null then
      delete from idempotency i
      where i.project_id = m.project_id and i.route = m.route and i.key = m.key and i.task_id = m.task_id;
    end if;
    return next;
  end loop;
end $$;
