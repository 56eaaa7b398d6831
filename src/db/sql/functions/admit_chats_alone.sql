-- admit_chats for one chat without an idempotency key, which no batch before has asked for: the same verdict and the same rows, by one statement
-- inside instead of seven. It decides only what most chats are: admitted, with a rate window that exists, a model that is in the list of its key, and
-- no grant that is due. Everything else it leaves to admit_chats, before it has written anything.
create or replace function admit_chats_alone(
  p_project_id text, p_key_id text, p_rpm int, p_request_id text, p_model_id text, p_credits bigint, p_hold_seconds float8,
  p_channel_id text, p_channel_name text, p_sender bigint, p_batch bigint,
  out verdict text, out original_request_id text, out rate_remaining int, out rate_reset int, out retry_after int)
language plpgsql
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  today date := (clock_timestamp() at time zone 'UTC')::date;
  decided_at timestamptz;
  this_second bigint;
begin
  -- Tests of expressions, which PL/pgSQL evaluates without a statement. The lock is that of lock_accounts.
  if set_config('synchronous_commit', 'off', true) is null or pg_advisory_xact_lock(7106, hashtext(p_project_id)) is null then
    raise 'not locked';
  end if;
  decided_at := clock_timestamp();
  this_second := floor(extract(epoch from decided_at))::bigint;

  with fit as materialized (
    -- If the clock was set back, the day of the hold is the one that the key was used on.
    select greatest(today, key.used_on) as day, date_trunc('month', greatest(today, key.used_on)::timestamp)::date as month_first
    from credit_account a, api_key key join project pr on pr.id = key.project_id
    where a.project_id = p_project_id and key.id = p_key_id
      and a.balance + a.overdraft >= p_credits and coalesce(a.grant_due_at > decided_at, true)
      and key.revoked_at is null and coalesce(key.expires_at > clock_timestamp(), true) and pr.status = 'active'
      and coalesce(key.in_flight < key.in_flight_max, true) and coalesce(key_room(key, today) >= p_credits, true)
      and coalesce(p_model_id = any (key.models), true)
      and not exists (select from hold h where h.id = p_request_id)
  ), rated as (
    -- What count_rates writes for a granted request.
    update rate_window r set (second, oldest, counts, total, senders, last_batches, last_granted) = (
      select at.newest,
        case when used.n = 0 then at.newest when r.oldest > at.newest - 61 then r.oldest
             else (select at.newest - at.shift + 1 - max(slot) from unnest(r.counts[1:61 - at.shift]) with ordinality as c (n, slot) where c.n > 0) end,
        array[1 + case when at.shift = 0 then r.counts[1] else 0 end] || array_fill(0, array[greatest(at.shift - 1, 0)])
          || r.counts[case when at.shift = 0 then 2 else 1 end:61 - at.shift],
        used.n + 1,
        r.senders[1:coalesce(at.place, 0) - 1] || r.senders[coalesce(at.place + 1, cardinality(r.senders) - 62):] || p_sender,
        r.last_batches[1:coalesce(at.place, 0) - 1] || r.last_batches[coalesce(at.place + 1, cardinality(r.last_batches) - 62):] || p_batch,
        r.last_granted[1:coalesce(at.place, 0) - 1] || r.last_granted[coalesce(at.place + 1, cardinality(r.last_granted) - 62):] || 1
      from (select greatest(this_second, r.second) as newest, least(greatest(this_second, r.second) - r.second, 61)::int as shift,
                   array_position(r.senders, p_sender) as place) at
      cross join lateral (
        select r.total - case when at.shift = 0 then 0 else (select sum(n)::int from unnest(r.counts[62 - at.shift:61]) n) end as n) used)
    from fit
    where r.key_id = p_key_id and p_rpm > r.total - case when r.second >= this_second then 0 else (
      select sum(n)::int from unnest(r.counts[62 - least(this_second - r.second, 61)::int:61]) n) end
    returning r.total, r.oldest
  ), passed as materialized (
    select fit.*, rated.total, rated.oldest from fit left join rated on true where p_rpm is null or rated.total is not null
  ), account as (
    update credit_account a set balance = a.balance - p_credits, reserved = a.reserved + p_credits
    from passed where a.project_id = p_project_id
  ), key as (
    update api_key key set reserved = key.reserved + p_credits, in_flight = key.in_flight + 1, used_on = passed.day,
      day_spent = in_period(key.day_spent, key.used_on, passed.day),
      day_reserved = in_period(key.day_reserved, key.used_on, passed.day) + p_credits,
      month_spent = in_period(key.month_spent, key.used_on, passed.month_first),
      month_reserved = in_period(key.month_reserved, key.used_on, passed.month_first) + p_credits,
      last_used_at = case when key.last_used_at > clock_timestamp() - interval '1 minute' then key.last_used_at else clock_timestamp() end
    from passed where key.id = p_key_id
  ), held as (
    insert into hold (id, project_id, key_id, kind, model_id, amount, expires_at, created_at, channel_id, channel_name, is_idempotent)
    select p_request_id, p_project_id, p_key_id, 'chat', p_model_id, p_credits, clock_timestamp() + make_interval(secs => p_hold_seconds),
           within_day(passed.day, decided_at), p_channel_id, p_channel_name, false
    from passed
  )
  select 'admitted', p_rpm - passed.total, case when passed.total is not null then greatest(1, passed.oldest + 61 - this_second)::int end
  into verdict, rate_remaining, rate_reset from passed;
  if verdict is null then
    select a.* into verdict, original_request_id, rate_remaining, rate_reset, retry_after from admit_chats(
      array[p_project_id], array[p_credits], array[p_key_id], array[p_credits], array[1], array[p_rpm], array[case when p_rpm is not null then 1 end],
      array[1], array[1], array[case when p_rpm is not null then 1 end],
      array[p_request_id], array[p_model_id], array[p_credits], array[p_hold_seconds], array[p_channel_id], array[p_channel_name],
      array[null]::text[], array[null]::text[], array[null]::text[], array[null]::float8[], p_sender, p_batch, false) a;
  end if;
end $$;
