import { Migration } from '@mikro-orm/migrations';

/** The ledger cannot be emptied, a rejected task binds no idempotency key, and upkeep tells chats from tasks by what they are. */
export class Migration0012AppendOnly extends Migration {
  override name = '0012-append-only';

  override up(): void {
    for (const sql of [neverEmptied, createTasks, planOnce, purgeChatAttempts]) this.addSql(sql);
  }
}

/** A row trigger does not see a truncation; databases that were begun early have no trigger for it yet. */
const neverEmptied = `
create or replace trigger ledger_entry_never_emptied before truncate on ledger_entry
  for each statement execute function refuse_change();
`;

/**
 * Writes task rows with their idempotency rows, or nothing. A member without any credit that could cover it (a plain look)
 * leaves no row. Asked again for a task that was rejected meanwhile (an answer was lost, and somebody ended it), it says why
 * and leaves the key free: only what was accepted binds one. Verdicts: created, replay (the first task), reused, or a
 * refusal code.
 */
const createTasks = `
create or replace function create_tasks(members jsonb)
returns table (task_id text, verdict text, original_task_id text) language plpgsql as $$
#variable_conflict use_column
declare
  member jsonb;
  existing record;
  earlier record;
  purse record;
begin
  -- Ids first and sorted, so that two batches with the same keys wait for each other instead of deadlocking.
  delete from idempotency i using (
    select m->>'project_id' as project_id, m->>'route' as route, m->>'idempotency_key' as key
    from jsonb_array_elements(members) m where m->>'idempotency_key' is not null
  ) wanted
  where i.project_id = wanted.project_id and i.route = wanted.route and i.key = wanted.key and i.expires_at <= clock_timestamp();
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

    select a.balance, k.budget, k.spent, k.reserved into purse
    from credit_account a join api_key k on k.project_id = a.project_id
    where a.project_id = member->>'project_id' and k.id = member->>'key_id';
    if not found or purse.balance < (member->>'credits')::bigint then
      verdict := 'insufficient_credits';
    elsif purse.budget is not null and purse.budget - purse.spent - purse.reserved < (member->>'credits')::bigint then
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
`;

/** A function that is replaced loses its settings (0010). */
const planOnce = `
alter function create_tasks(jsonb) set enable_seqscan = off;
alter function create_tasks(jsonb) set plan_cache_mode = force_generic_plan;
`;

/** Attempts of tasks carry their model too since 0008 and go with their task: a chat is what has no row of its own. */
const purgeChatAttempts = `
create or replace function purge_chat_attempts(p_seconds float8, p_limit int) returns int language plpgsql as $$
declare
  purged int;
begin
  delete from attempt where id in (
    select a.id from attempt a
    where a.outcome is not null and a.started_at < clock_timestamp() - make_interval(secs => p_seconds)
      and is_summarised(a.started_at) and not exists (select from task t where t.id = a.request_id)
    limit p_limit for update skip locked);
  get diagnostics purged = row_count;
  return purged;
end $$;
`;
