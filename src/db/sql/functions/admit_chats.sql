-- Admits chats in the given order. Checks rate limit, key (revoked, expired, model allowlist), idempotency key, requests in
-- flight, balance and budget, then writes the hold and the first attempt.
-- The verdicts equal those of the members admitted one after another. A refused member uses up nothing but its rate limit.
-- Called again for an admitted request, it returns 'admitted' again. Balances are read once and written once per account and key.
create or replace function admit_chats(members jsonb)
returns table (ord int, verdict text, original_request_id text, rate_remaining int, rate_reset int, retry_after int)
language plpgsql
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  m record;
  ids text[];
  known text[];
  project_ids text[];
  balances bigint[];
  held_by_project bigint[];
  key_ids text[];
  rooms bigint[];
  held_by_key bigint[];
  places int[];
  begun_by_key int[];
  usable text[];
  allowlists jsonb[];
  admitted_ords int[] := '{}';
  rated_keys text[];
  rated_rpms int[];
  rated_ords int[];
  rated_requests text[];
  asked_again boolean;
  rate_ords int[];
  rate_admitted boolean[];
  rate_remainings int[];
  rate_resets int[];
  rate_retries int[];
  r int;
  p int;
  k int;
  earlier record;
begin
  select array_agg(x.request_id), array_agg(distinct x.project_id), array_agg(distinct x.key_id) into ids, project_ids, key_ids
  from jsonb_to_recordset(members) as x (request_id text, project_id text, key_id text);
  -- A request that was admitted before is asked for again after a lost connection: its rate is counted already.
  known := array(select r.id from reservation r where r.id = any (ids));
  select array_agg(x.key_id order by x.ord), array_agg(x.rpm order by x.ord), array_agg(x.ord order by x.ord),
         array_agg(x.request_id order by x.ord), coalesce(bool_or(x.asked_again), false)
  into rated_keys, rated_rpms, rated_ords, rated_requests, asked_again
  from jsonb_to_recordset(members) as x (ord int, request_id text, key_id text, rpm int, asked_again boolean)
  where x.rpm is not null and x.request_id <> all (known);
  if rated_ords is not null then
    select array_agg(rated_ords[h.ord]), array_agg(h.admitted), array_agg(h.remaining), array_agg(h.reset_after), array_agg(h.retry_after)
    into rate_ords, rate_admitted, rate_remainings, rate_resets, rate_retries
    from hit_rates(rated_keys, rated_rpms, rated_requests, asked_again) h;
  end if;

  perform lock_money(project_ids, key_ids);
  -- Looked for again: another call may have admitted one of them before we had the locks.
  known := array(select r.id from reservation r where r.id = any (ids));
  select array_agg(a.project_id), array_agg(a.balance), array_agg(0::bigint) into project_ids, balances, held_by_project
  from credit_account a where a.project_id = any (project_ids);
  select array_agg(key.id), array_agg(case when key.budget is null then null else key.budget - key.spent - key.reserved end),
         array_agg(key.in_flight_max - key.in_flight), array_agg(0::bigint), array_agg(0),
         array_agg(case when key.revoked_at is not null or key.expires_at <= clock_timestamp() or pr.status <> 'active'
                        then 'no' else 'yes' end),
         array_agg(to_jsonb(key.models))
  into key_ids, rooms, places, held_by_key, begun_by_key, usable, allowlists
  from api_key key join project pr on pr.id = key.project_id where key.id = any (key_ids);

  for m in
    select * from jsonb_to_recordset(members) as x (
      ord int, request_id text, project_id text, key_id text, model_id text, credits bigint,
      route text, key text, fingerprint text, kept_seconds float8) order by x.ord
  loop
    ord := m.ord;
    original_request_id := null;
    verdict := null;
    rate_remaining := null;
    rate_reset := null;
    retry_after := null;
    r := array_position(rate_ords, m.ord);
    if r is not null then
      rate_remaining := rate_remainings[r];
      rate_reset := rate_resets[r];
      retry_after := rate_retries[r];
      verdict := case when not rate_admitted[r] then 'rate_limit_exceeded' end;
    end if;
    p := array_position(project_ids, m.project_id);
    k := array_position(key_ids, m.key_id);
    if verdict is null then
      verdict := case
        when m.request_id = any (known) then 'again'
        when p is null or k is null or usable[k] = 'no' then 'invalid_api_key'
        when jsonb_typeof(allowlists[k]) = 'array' and not allowlists[k] ? m.model_id then 'model_not_allowed'
      end;
    end if;
    if verdict is null and m.key is not null then
      delete from idempotency i where i.project_id = m.project_id and i.route = m.route and i.key = m.key
        and i.expires_at <= clock_timestamp();
      insert into idempotency (project_id, route, key, fingerprint, request_id, expires_at)
      values (m.project_id, m.route, m.key, m.fingerprint, m.request_id,
              clock_timestamp() + make_interval(secs => m.kept_seconds))
      on conflict do nothing;
      if not found then
        select i.fingerprint, i.request_id, i.status into earlier from idempotency i
        where i.project_id = m.project_id and i.route = m.route and i.key = m.key;
        if found then
          original_request_id := earlier.request_id;
          verdict := case
            when earlier.fingerprint <> m.fingerprint then 'idempotency_key_reused'
            when earlier.status is null then 'idempotency_in_progress'
            else 'replay'
          end;
        else
          verdict := 'idempotency_in_progress';
        end if;
      end if;
    end if;
    if verdict is null then
      verdict := case
        when places[k] <= 0 then 'concurrency_limit_exceeded'
        when balances[p] < m.credits then 'insufficient_credits'
        when rooms[k] < m.credits then 'key_budget_exceeded'
        else 'admitted'
      end;
      if verdict = 'admitted' then
        balances[p] := balances[p] - m.credits;
        held_by_project[p] := held_by_project[p] + m.credits;
        rooms[k] := rooms[k] - m.credits;
        held_by_key[k] := held_by_key[k] + m.credits;
        places[k] := places[k] - 1;
        begun_by_key[k] := begun_by_key[k] + 1;
        admitted_ords := admitted_ords || m.ord;
      elsif m.key is not null then
        delete from idempotency i where i.project_id = m.project_id and i.route = m.route and i.key = m.key
          and i.request_id = m.request_id;
      end if;
    elsif verdict = 'again' then
      verdict := 'admitted';
    end if;
    return next;
  end loop;

  if cardinality(admitted_ords) > 0 then
    update credit_account a set balance = a.balance - u.held, reserved = a.reserved + u.held
    from unnest(project_ids, held_by_project) as u (id, held)
    where a.project_id = u.id and a.project_id = any (project_ids) and u.held > 0;
    update api_key key set reserved = key.reserved + u.held, in_flight = key.in_flight + u.begun,
      last_used_at = case when key.last_used_at > clock_timestamp() - interval '1 minute' then key.last_used_at else clock_timestamp() end
    from unnest(key_ids, held_by_key, begun_by_key) as u (id, held, begun)
    where key.id = u.id and key.id = any (key_ids) and u.begun > 0;
    insert into reservation (id, project_id, key_id, kind, model_id, amount, expires_at)
    select x.request_id, x.project_id, x.key_id, 'chat', x.model_id, x.credits, clock_timestamp() + make_interval(secs => x.hold_seconds)
    from jsonb_to_recordset(members) as x (ord int, request_id text, project_id text, key_id text, model_id text, credits bigint, hold_seconds float8)
    where x.ord = any (admitted_ords);
    insert into ledger_entry (project_id, key_id, reservation_id, kind, d_balance, d_reserved)
    select x.project_id, x.key_id, x.request_id, 'hold', -x.credits, x.credits
    from jsonb_to_recordset(members) as x (ord int, request_id text, project_id text, key_id text, credits bigint)
    where x.ord = any (admitted_ords) order by x.ord;
    insert into attempt (id, request_id, n, channel_id, channel_name, fence, submit_deadline, model_id)
    select x.attempt_id, x.request_id, 1, x.channel_id, x.channel_name, x.attempt_id,
           clock_timestamp() + make_interval(secs => x.hold_seconds), x.model_id
    from jsonb_to_recordset(members) as x (ord int, request_id text, attempt_id text, channel_id text, channel_name text, model_id text, hold_seconds float8)
    where x.ord = any (admitted_ords);
  end if;
end $$;
