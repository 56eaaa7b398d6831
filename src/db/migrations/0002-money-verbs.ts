import { Migration } from '@mikro-orm/migrations';

/**
 * The money verbs. Each is one round trip for a whole batch, decided in the order given, and idempotent: called again
 * for the same request it answers what it answered the first time. Lock order everywhere: account, key, reservation,
 * task, each sorted by id.
 */
export class Migration0002MoneyVerbs extends Migration {
  override name = '0002-money-verbs';

  override up(): void {
    for (const sql of [createTasks, lockMoney, reserveTasks, endReservation, finishTasks, addCredits]) this.addSql(sql);
  }
}

/**
 * Writes task rows with their idempotency rows, or nothing. A member without any credit that could cover it (a plain look)
 * leaves no row. Verdicts: created, replay (the first task), reused, or a refusal code.
 */
const createTasks = `
create function create_tasks(members jsonb)
returns table (task_id text, verdict text, original_task_id text) language plpgsql as $$
#variable_conflict use_column
declare
  member jsonb;
  existing record;
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

    if exists (select from task t where t.id = member->>'task_id') then
      verdict := 'created';
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

const lockMoney = `
create function lock_money(projects text[], keys text[]) returns void language plpgsql as $$
begin
  perform from credit_account where project_id = any (projects) order by project_id for no key update;
  perform from api_key where id = any (keys) order by id for no key update;
end $$;
`;

/**
 * Holds the quoted credits of each task, in the order given. The verdict is stored on the task and final: 'reserved', or
 * 'rejected' with its code. A rejected member consumes nothing and frees its idempotency key in the same transaction.
 * remaining_ms is the time to the deadline by the database clock.
 */
const reserveTasks = `
create function reserve_tasks(ids text[], by_workflow boolean, in_flight_max_per_project int)
returns table (task_id text, admission text, refusal_code text, remaining_ms float8, status text)
language plpgsql as $$
#variable_conflict use_column
declare
  t record;
  purse credit_account;
  opened api_key;
  project_status text;
  code text;
begin
  if exists (select from task where id = any (ids) and task.admission = 'open') then
    perform lock_money(
      (select array_agg(distinct project_id) from task where id = any (ids)),
      (select array_agg(distinct key_id) from task where id = any (ids)));
  end if;
  perform from task where id = any (ids) order by id for no key update;

  for t in
    select task.* from unnest(ids) with ordinality as given (id, ord) join task using (id) order by ord
  loop
    task_id := t.id;
    admission := t.admission;
    refusal_code := t.refusal_code;
    status := t.status;
    remaining_ms := extract(epoch from t.deadline_at - clock_timestamp()) * 1000;

    if t.admission = 'open' then
      select * into purse from credit_account a where a.project_id = t.project_id;
      select * into opened from api_key k where k.id = t.key_id;
      select p.status into project_status from project p where p.id = t.project_id;
      code := case
        when project_status <> 'active' or opened.revoked_at is not null or opened.expires_at <= clock_timestamp()
          then 'invalid_api_key'
        when remaining_ms <= 0 then 'service_unavailable'
        when purse.in_flight >= in_flight_max_per_project or opened.in_flight >= opened.in_flight_max
          then 'concurrency_limit_exceeded'
        when purse.balance < t.credits_quoted then 'insufficient_credits'
        when opened.budget is not null and opened.budget - opened.spent - opened.reserved < t.credits_quoted
          then 'key_budget_exceeded'
      end;
      if code is null then
        update credit_account a
        set balance = a.balance - t.credits_quoted, reserved = a.reserved + t.credits_quoted, in_flight = a.in_flight + 1
        where a.project_id = t.project_id;
        update api_key k set reserved = k.reserved + t.credits_quoted, in_flight = k.in_flight + 1,
          last_used_at = case when k.last_used_at > clock_timestamp() - interval '1 minute' then k.last_used_at
                              else clock_timestamp() end
        where k.id = t.key_id;
        insert into reservation (id, project_id, key_id, kind, model_id, amount, expires_at)
        values (t.id, t.project_id, t.key_id, 'media', t.model_id, t.credits_quoted, t.deadline_at);
        insert into ledger_entry (project_id, key_id, reservation_id, kind, d_balance, d_reserved)
        values (t.project_id, t.key_id, t.id, 'hold', -t.credits_quoted, t.credits_quoted);
        update task set admission = 'reserved', credits_reserved = t.credits_quoted, last_seen_at = clock_timestamp(),
          workflow_started_at = case when by_workflow then clock_timestamp() end
        where task.id = t.id;
        admission := 'reserved';
      else
        update task set admission = 'rejected', refusal_code = code, status = 'failed', completed_at = clock_timestamp(),
          input = null
        where task.id = t.id;
        delete from idempotency i where i.task_id = t.id;
        admission := 'rejected';
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
`;

/**
 * Ends one held reservation: settles p_settled of it, or with null refunds all. True when this call ended it, false when
 * it had ended before. The caller holds the locks of lock_money.
 */
const endReservation = `
create function end_reservation(p_id text, p_settled bigint, p_channel_id text) returns boolean language plpgsql as $$
#variable_conflict use_column
declare
  held reservation;
  back bigint;
begin
  update reservation r
  set state = case when p_settled is null then 'refunded' else 'settled' end,
      settled_amount = case when p_settled is not null then least(p_settled, r.amount) end, channel_id = p_channel_id, ended_at = clock_timestamp()
  where r.id = p_id and r.state = 'held'
  returning * into held;
  if not found then return false; end if;
  back := held.amount - coalesce(held.settled_amount, 0);
  update credit_account a
  set balance = a.balance + back, reserved = a.reserved - held.amount,
      in_flight = a.in_flight - (held.kind = 'media')::int
  where a.project_id = held.project_id;
  update api_key k
  set reserved = k.reserved - held.amount, spent = k.spent + coalesce(held.settled_amount, 0),
      in_flight = k.in_flight - (held.kind = 'media')::int
  where k.id = held.key_id;
  insert into ledger_entry (project_id, key_id, reservation_id, kind, d_balance, d_reserved)
  values (held.project_id, held.key_id, held.id, case when p_settled is null then 'refund' else 'settle' end, back, -held.amount);
  return true;
end $$;
`;

/**
 * Ends tasks, each once: whoever commits first decides, later calls change nothing and answer what stands. The task's
 * status, its money and its callback's delivery row are one transaction. A success takes its outputs from the attempt
 * that ended ok; without such an attempt it is refused, for nothing may be charged without a result.
 */
const finishTasks = `
create function finish_tasks(members jsonb)
returns table (task_id text, finished boolean, status text, error_code text, delivery_id text) language plpgsql as $$
#variable_conflict use_column
declare
  member jsonb;
  t record;
  won record;
  ended boolean;
begin
  perform lock_money(
    (select array_agg(distinct task.project_id) from task where id in (select m->>'task_id' from jsonb_array_elements(members) m)),
    (select array_agg(distinct task.key_id) from task where id in (select m->>'task_id' from jsonb_array_elements(members) m)));
  perform from reservation where id in (select m->>'task_id' from jsonb_array_elements(members) m) order by id for no key update;
  perform from task where id in (select m->>'task_id' from jsonb_array_elements(members) m) order by id for no key update;

  for member in select m from jsonb_array_elements(members) with ordinality as given (m, ord) order by ord loop
    select * into t from task where id = member->>'task_id';
    if not found then raise exception 'task % does not exist', member->>'task_id'; end if;
    task_id := t.id;
    finished := false;
    delivery_id := null;

    if t.completed_at is null and t.admission = 'open' then
      -- Nobody was ever told that this task exists: it ends as never admitted.
      update task set admission = 'rejected', refusal_code = 'service_unavailable', status = 'failed',
        completed_at = clock_timestamp(), input = null
      where id = t.id;
      delete from idempotency i where i.task_id = t.id;
      finished := true;
    elsif t.completed_at is null then
      won := null;
      if member->>'status' = 'succeeded' then
        select a.channel_id, a.outputs into strict won from attempt a
        where a.request_id = t.id and a.outcome = 'ok' and a.outputs is not null;
      else
        select null::text as channel_id, null::jsonb as outputs into won;
      end if;
      ended := end_reservation(t.id, case when member->>'status' = 'succeeded' then t.credits_quoted end, won.channel_id);
      if not ended then raise exception 'task % is open but its reservation is not held', t.id; end if;
      update task set
        status = member->>'status', completed_at = clock_timestamp(), output = won.outputs, channel_id = won.channel_id,
        error_code = member->>'error_code', outcome_unknown = coalesce((member->>'outcome_unknown')::boolean, false),
        progress = case when member->>'status' = 'succeeded' then 100 else task.progress end,
        credits_charged = case when member->>'status' = 'succeeded' then t.credits_quoted else 0 end,
        credits_refunded = case when member->>'status' = 'succeeded' then 0 else t.credits_quoted end,
        expires_at = clock_timestamp() + make_interval(secs => (member->>'retention_seconds')::float8)
      where id = t.id;
      if t.callback_url is not null then
        insert into delivery (id, task_id, project_id, event_id, url, next_attempt_at)
        values (member->>'delivery_id', t.id, t.project_id, member->>'event_id', t.callback_url, clock_timestamp());
      end if;
      finished := true;
    end if;
    select task.status, task.error_code into status, error_code from task where id = t.id;
    select d.id into delivery_id from delivery d where d.task_id = t.id order by d.created_at desc limit 1;
    return next;
  end loop;
end $$;
`;

/** Adds credits once per reference. Verdicts: added, already_added, reference_reused (same reference, other amount), too_many (counts stay exact in
 * every client only up to 2^53 - 1). */
const addCredits = `
create function add_credits(p_project_id text, p_amount bigint, p_reference text)
returns table (verdict text, balance bigint, reserved bigint) language plpgsql as $$
#variable_conflict use_column
declare
  before ledger_entry;
begin
  perform from credit_account a where a.project_id = p_project_id for no key update;
  if not found then
    verdict := 'project_not_found';
    return next;
    return;
  end if;
  if p_amount <= 0 or p_amount > 9007199254740991
     or exists (select from credit_account a where a.project_id = p_project_id and a.balance + a.reserved > 9007199254740991 - p_amount) then
    verdict := 'too_many';
    return next;
    return;
  end if;
  select * into before from ledger_entry e
  where e.project_id = p_project_id and e.kind = 'topup' and e.reference = p_reference;
  if found then
    verdict := case when before.d_balance = p_amount then 'already_added' else 'reference_reused' end;
  else
    update credit_account a set balance = a.balance + p_amount where a.project_id = p_project_id;
    insert into ledger_entry (project_id, kind, d_balance, d_reserved, reference)
    values (p_project_id, 'topup', p_amount, 0, p_reference);
    verdict := 'added';
  end if;
  select a.balance, a.reserved into balance, reserved from credit_account a where a.project_id = p_project_id;
  return next;
end $$;
`;
