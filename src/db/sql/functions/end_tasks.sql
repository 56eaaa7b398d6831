-- Ends tasks as finish_tasks does. The caller has locked them with lock_tasks, which returned latest_day, and sets how statements are planned.
create or replace function end_tasks(members jsonb, latest_day date)
returns table (task_id text, finished boolean, status text, error_code text, delivery_id text)
language plpgsql
as $$
#variable_conflict use_column
declare
  t record;
  month_first date := date_trunc('month', latest_day::timestamp)::date;
  channel_id text;
  outputs jsonb;
  ids text[] := '{}';
  are_finished boolean[] := '{}';
  -- Of the tasks that this call ends: their ids, the members that end them, and the results of those that succeed.
  ended_ids text[] := '{}';
  ends jsonb[] := '{}';
  channel_ids text[] := '{}';
  results jsonb[] := '{}';
  -- What each may be charged; null for a refund.
  prices bigint[] := '{}';
  unsold_ids text[] := '{}';
  unwanted_ids text[] := '{}';
  callback_ids text[] := '{}';
  ended_count int;
  returned jsonb;
begin
  for t in
    select given.member, given.member->>'task_id' as asked, given.member->>'status' as status, stored.id, stored.completed_at, stored.admission,
      stored.callback_url, stored.credits_quoted
    from jsonb_array_elements(members) with ordinality as given (member, ord)
    left join lateral (select * from task where task.id = given.member->>'task_id' offset 0) stored on true
    order by given.ord
  loop
    if t.id is null then raise exception 'task % does not exist', t.asked; end if;
    ids := ids || t.id;
    are_finished := are_finished || (t.completed_at is null and t.id <> all (ended_ids) and t.id <> all (unsold_ids));
    continue when not are_finished[cardinality(are_finished)];
    if t.admission = 'open' then
      unsold_ids := unsold_ids || t.id;
      continue;
    end if;
    channel_id := null;
    outputs := null;
    if t.status = 'succeeded' then
      select a.channel_id, a.outputs into strict channel_id, outputs from attempt a
      where a.request_id = t.id and a.outcome = 'ok' and a.outputs is not null;
    else
      unwanted_ids := unwanted_ids || t.id;
    end if;
    ended_ids := ended_ids || t.id;
    ends := array_append(ends, t.member);
    channel_ids := array_append(channel_ids, channel_id);
    results := array_append(results, outputs);
    prices := array_append(prices, case when t.status = 'succeeded' then t.credits_quoted end);
    if t.callback_url is not null then callback_ids := callback_ids || t.id; end if;
  end loop;

  if unsold_ids <> '{}' then
    -- No client was ever told that these tasks exist: they end as never admitted.
    update task set admission = 'rejected', refusal_code = 'service_unavailable', status = 'failed', completed_at = clock_timestamp(),
      input = null
    where task.id = any (unsold_ids);
    delete from idempotency i where i.task_id = any (unsold_ids);
  end if;

  if ended_ids <> '{}' then
    with given as materialized (
      select x.*, x.price is not null as is_success
      from unnest(ended_ids, ends, channel_ids, results, prices) with ordinality as x (id, member, channel_id, outputs, price, n)
    ), released as (
      delete from hold h where h.id = any (ended_ids) returning h.*
    ), over as materialized (
      select r.*, g.n, g.channel_id as won_by, g.is_success, case when g.is_success then least(g.price, r.amount) else 0 end as charged,
        case when not g.is_success then g.member->>'error_code' end as reason, (r.created_at at time zone 'UTC')::date as began_on
      from released r join given g on g.id = r.id
    ), accounts as (
      update credit_account a set balance = a.balance + s.back, reserved = a.reserved - s.held, in_flight = a.in_flight - s.tasks
      from (select project_id, sum(amount - charged) as back, sum(amount) as held, count(*) as tasks from over group by 1) s
      where a.project_id = s.project_id and a.project_id = any (array(select project_id from over))
      returning a.project_id, a.balance + a.reserved as total
    ), keys as (
      update api_key k set reserved = k.reserved - s.held, spent = k.spent + s.charged, in_flight = k.in_flight - s.tasks,
        used_on = latest_day,
        day_spent = in_period(k.day_spent, k.used_on, latest_day) + s.day_charged,
        day_reserved = in_period(k.day_reserved, k.used_on, latest_day) - s.day_held,
        month_spent = in_period(k.month_spent, k.used_on, month_first) + s.month_charged,
        month_reserved = in_period(k.month_reserved, k.used_on, month_first) - s.month_held
      from (
        select key_id, sum(amount) as held, sum(charged) as charged, count(*) as tasks,
          coalesce(sum(amount) filter (where began_on >= latest_day), 0) as day_held,
          coalesce(sum(charged) filter (where began_on >= latest_day), 0) as day_charged,
          coalesce(sum(amount) filter (where began_on >= month_first), 0) as month_held,
          coalesce(sum(charged) filter (where began_on >= month_first), 0) as month_charged
        from over group by 1) s
      where k.id = s.key_id and k.id = any (array(select key_id from over))
    ), entries as (
      insert into ledger_entry (project_id, kind, credits, balance_after, key_id, request_id, model_id, channel_id, held, reason, began_at)
      select o.project_id, case when o.is_success then 'settle' else 'refund' end, -o.charged,
        -- What the later ones of this batch take is still in the account.
        a.total + coalesce(sum(o.charged) over (partition by o.project_id order by o.n rows between 1 following and unbounded following), 0),
        o.key_id, o.id, o.model_id, o.won_by, o.amount, o.reason, o.created_at
      from over o join accounts a on a.project_id = o.project_id order by o.n
    ), tasks as (
      update task set
        status = g.member->>'status', completed_at = clock_timestamp(), output = g.outputs, channel_id = g.channel_id,
        error_code = g.member->>'error_code', outcome_unknown = coalesce((g.member->>'outcome_unknown')::boolean, false),
        progress = case when g.is_success then 100 else task.progress end,
        credits_charged = case when g.is_success then task.credits_quoted else 0 end,
        credits_refunded = case when g.is_success then 0 else task.credits_quoted end,
        expires_at = clock_timestamp() + make_interval(secs => (g.member->>'retention_seconds')::float8)
      from given g where task.id = g.id and task.id = any (ended_ids)
    )
    select count(*), jsonb_agg(jsonb_build_object('project_id', o.project_id, 'n', o.grant_interval, 'back', o.amount - o.charged))
      filter (where o.grant_interval is not null and o.amount > o.charged)
    into ended_count, returned from over o;
    if returned is not null then perform return_to_grants(returned); end if;
    if ended_count <> cardinality(ended_ids) then
      raise exception 'one of the tasks % is open but its reservation is not held', ended_ids;
    end if;
  end if;
  if unwanted_ids <> '{}' then
    -- A parked job learns at its next poll that it is not wanted any more.
    update attempt a set next_poll_at = clock_timestamp() where a.request_id = any (unwanted_ids) and a.next_poll_at is not null;
  end if;

  if callback_ids <> '{}' then
    insert into delivery (id, task_id, project_id, event_id, url, next_attempt_at)
    select g.member->>'delivery_id', stored.id, stored.project_id, g.member->>'event_id', stored.callback_url, clock_timestamp()
    from unnest(ended_ids, ends) with ordinality as g (id, member, n)
    cross join lateral (select * from task where task.id = g.id offset 0) stored
    where g.id = any (callback_ids) order by g.n;
  end if;

  return query
    select stored.id, m.finished, stored.status, stored.error_code,
           (select d.id from delivery d where d.task_id = stored.id order by d.created_at desc limit 1)
    from unnest(ids, are_finished) with ordinality as m (id, finished, n)
    cross join lateral (select * from task where task.id = m.id offset 0) stored
    order by m.n;
end $$;
