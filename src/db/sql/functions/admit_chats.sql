-- Admits chats in the given order. Checks rate limit, key (revoked, expired, model allowlist), idempotency key, requests in
-- flight, balance and budget, then writes the hold, which also names the channel of the first call.
-- The verdicts equal those of the members admitted one after another. A refused member uses up nothing but its rate limit.
-- Called again for an admitted request, it returns 'admitted' again. Balances are read once and written once per account and key.
--
-- p_projects and p_keys are distinct, with the sums of what is asked of each: credits, chats, and requests that count against the
-- limit p_rpms of the key, which are null where there is no limit. All other arrays have one element per member: the places of its
-- account and key in those arrays, and its own place among the counted requests of its key.
--
-- The commit waits for the disk only if a member has an idempotency key. A crash of the database may lose the hold of a call that
-- was sent; its end then finds no hold, so the client is charged nothing and gets no answer. A lost idempotency key would let the
-- request be bought twice.
create or replace function admit_chats(
  p_projects text[], p_project_credits bigint[], p_keys text[], p_key_credits bigint[], p_key_chats int[], p_rpms int[], p_rated int[],
  p_project_of int[], p_key_of int[], p_rate_places int[],
  p_request_ids text[], p_model_ids text[], p_credits bigint[], p_hold_seconds float8[],
  p_channel_ids text[], p_channel_names text[],
  p_routes text[], p_idempotency_keys text[], p_fingerprints text[], p_kept_seconds float8[],
  p_sender bigint, p_batch bigint, p_again boolean)
returns table (verdict text, original_request_id text, rate_remaining int, rate_reset int, retry_after int)
language plpgsql
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  -- What can be held, which a credit line raises.
  balances bigint[];
  rooms bigint[];
  places int[];
  usable boolean[];
  allowlists jsonb[];
  known text[];
  all_fit boolean;
  any_ended boolean;
  granted int[];
  used int[];
  reset_after int[];
  rate_places int[];
  held_by_project bigint[];
  held_by_key bigint[];
  begun_by_key int[];
  is_admitted boolean[];
  earlier record;
  today date := (clock_timestamp() at time zone 'UTC')::date;
  -- Once the locks are held. A grant that ends after it pays for the holds of this call.
  decided_at timestamptz;
  began timestamptz;
  month_first date;
  p int;
  k int;
begin
  all_fit := array_remove(p_idempotency_keys, null) = '{}';
  if all_fit then perform set_config('synchronous_commit', 'off', true); end if;

  perform lock_accounts(p_projects);
  decided_at := clock_timestamp();
  with accounts as materialized (
    select a.project_id, a.balance + a.overdraft as balance, coalesce(a.grant_due_at <= decided_at, false) as has_ended from credit_account a where a.project_id = any (p_projects)
  ), keys as materialized (
    select key.*, key_room(key, today) as room from api_key key where key.id = any (p_keys)
  ), given_accounts as (
    select array_agg(a.balance order by given.n) as balances, bool_and(coalesce(a.balance >= given.credits and not a.has_ended, false)) as fit, bool_or(a.has_ended) as any_ended
    from unnest(p_projects, p_project_credits) with ordinality as given (id, credits, n) left join accounts a on a.project_id = given.id
  ), given_keys as (
    select given.*, key.room, key.used_on, key.in_flight_max - key.in_flight as places,
      -- A key's list may have a chat model by an alias. The catalog is read only if the list lacks an id that is asked for.
      case when key.models is not null and exists (
        select from unnest(p_key_of, p_model_ids) as asked (k, model_id) where asked.k = given.n and asked.model_id <> all (key.models))
      then key.models || array(select m.id from model m where m.entry ->> 'type' = 'chat' and m.private -> 'aliases' ?| key.models)
      else key.models end as models,
      key.revoked_at is null and coalesce(key.expires_at > clock_timestamp(), true) and pr.status = 'active' as usable
    from unnest(p_keys, p_key_credits, p_key_chats) with ordinality as given (id, credits, chats, n)
    left join keys key on key.id = given.id left join project pr on pr.id = key.project_id
  )
  select (select g.balances from given_accounts g), (select g.any_ended from given_accounts g), array_agg(g.room order by g.n), array_agg(g.places order by g.n),
         array_agg(g.usable order by g.n), array_agg(to_jsonb(g.models) order by g.n), greatest(today, max(g.used_on)), held_now.ids,
         all_fit and not p_again and held_now.ids = '{}' and (select g.fit from given_accounts g)
           and bool_and(coalesce(g.usable, false) and coalesce(g.room >= g.credits, true) and coalesce(g.places >= g.chats, true)
                        and (g.models is null or not exists (
                          select from unnest(p_key_of, p_model_ids) as asked (k, model_id)
                          where asked.k = g.n and asked.model_id <> all (g.models))))
  into balances, any_ended, rooms, places, usable, allowlists, today, known, all_fit
  from given_keys g cross join (select array(select h.id from hold h where h.id = any (p_request_ids)) as ids) held_now
  group by held_now.ids;

  if any_ended then
    perform expire_grants(a.project_id, decided_at) from credit_account a where a.project_id = any (p_projects) and a.grant_due_at <= decided_at;
    balances := array(
      select a.balance + a.overdraft from unnest(p_projects) with ordinality as given (id, n)
      left join credit_account a on a.project_id = given.id order by given.n);
  end if;
  rate_places := p_rate_places;
  if not all_fit and cardinality(known) > 0 and not p_again then
    -- Another process has admitted them, and counted them.
    for i in 1..cardinality(p_request_ids) loop
      if p_request_ids[i] = any (known) and rate_places[i] is not null then
        k := p_key_of[i];
        p_rated[k] := p_rated[k] - 1;
        rate_places[i] := null;
        for later in i + 1..cardinality(p_request_ids) loop
          if p_key_of[later] = k then rate_places[later] := rate_places[later] - 1; end if;
        end loop;
      end if;
    end loop;
  end if;
  if array_remove(p_rpms, null) <> '{}' then
    select c.granted, c.used, c.reset_after into granted, used, reset_after from count_rates(p_keys, p_rpms, p_rated, p_sender, p_batch, p_again) c;
    all_fit := all_fit and granted = p_rated;
  end if;

  if all_fit then
    -- Whatever the order, every member is admitted.
    held_by_project := p_project_credits;
    held_by_key := p_key_credits;
    begun_by_key := p_key_chats;
    is_admitted := array_fill(true, array[cardinality(p_request_ids)]);
    return query
      -- greatest ignores null, but a member that is not counted has no rate.
      select 'admitted', null::text, case when x.place is not null then greatest(0, p_rpms[x.k] - used[x.k] - x.place) end,
             case when x.place is not null then reset_after[x.k] end, null::int
      from unnest(p_key_of, p_rate_places) with ordinality as x (k, place, n) order by x.n;
  else
    held_by_project := array_fill(0::bigint, array[cardinality(p_projects)]);
    held_by_key := array_fill(0::bigint, array[cardinality(p_keys)]);
    begun_by_key := array_fill(0, array[cardinality(p_keys)]);
    is_admitted := array_fill(false, array[cardinality(p_request_ids)]);
    for i in 1..cardinality(p_request_ids) loop
      p := p_project_of[i];
      k := p_key_of[i];
      verdict := null;
      original_request_id := null;
      rate_remaining := null;
      rate_reset := null;
      retry_after := null;
      if rate_places[i] is not null then
        rate_remaining := greatest(0, p_rpms[k] - used[k] - least(rate_places[i], granted[k]));
        rate_reset := reset_after[k];
        if rate_places[i] > granted[k] then
          retry_after := rate_reset;
          verdict := 'rate_limit_exceeded';
        end if;
      end if;
      if verdict is null then
        verdict := case
          when p_request_ids[i] = any (known) then 'admitted'
          when balances[p] is null or usable[k] is not true then 'invalid_api_key'
          when not allowlists[k] ? p_model_ids[i] then 'model_not_allowed'
        end;
      end if;
      if verdict is null and p_idempotency_keys[i] is not null then
        delete from idempotency i2 where i2.project_id = p_projects[p] and i2.route = p_routes[i] and i2.key = p_idempotency_keys[i]
          and i2.expires_at <= clock_timestamp();
        insert into idempotency (project_id, route, key, fingerprint, request_id, expires_at)
        values (p_projects[p], p_routes[i], p_idempotency_keys[i], p_fingerprints[i], p_request_ids[i],
                clock_timestamp() + make_interval(secs => p_kept_seconds[i]))
        on conflict do nothing;
        if not found then
          select i2.fingerprint, i2.request_id, i2.status into earlier from idempotency i2
          where i2.project_id = p_projects[p] and i2.route = p_routes[i] and i2.key = p_idempotency_keys[i];
          original_request_id := earlier.request_id;
          verdict := case
            when earlier.fingerprint <> p_fingerprints[i] then 'idempotency_key_reused'
            when earlier.status is null then 'idempotency_in_progress'
            else 'replay'
          end;
        end if;
      end if;
      if verdict is null then
        verdict := case
          when places[k] <= 0 then 'concurrency_limit_exceeded'
          when balances[p] < p_credits[i] then 'insufficient_credits'
          when rooms[k] < p_credits[i] then 'key_budget_exceeded'
          else 'admitted'
        end;
        if verdict = 'admitted' then
          balances[p] := balances[p] - p_credits[i];
          held_by_project[p] := held_by_project[p] + p_credits[i];
          rooms[k] := rooms[k] - p_credits[i];
          held_by_key[k] := held_by_key[k] + p_credits[i];
          places[k] := places[k] - 1;
          begun_by_key[k] := begun_by_key[k] + 1;
          is_admitted[i] := true;
        elsif p_idempotency_keys[i] is not null then
          delete from idempotency i2 where i2.project_id = p_projects[p] and i2.route = p_routes[i] and i2.key = p_idempotency_keys[i]
            and i2.request_id = p_request_ids[i];
        end if;
      end if;
      return next;
    end loop;
  end if;

  if true = any (is_admitted) then
    -- A hold begins once the locks are held, so that it does not overlap with those that ended meanwhile, and within the day whose budget was
    -- checked. If the clock was set back, that is the day that the keys were used on.
    began := within_day(today, decided_at);
    month_first := date_trunc('month', today::timestamp)::date;
    with accounts as (
      update credit_account a set balance = a.balance - u.held, reserved = a.reserved + u.held
      from unnest(p_projects, held_by_project) as u (id, held)
      where a.project_id = u.id and a.project_id = any (p_projects) and u.held > 0
    ), keys as (
      update api_key key set reserved = key.reserved + u.held, in_flight = key.in_flight + u.begun, used_on = today,
        day_spent = in_period(key.day_spent, key.used_on, today), day_reserved = in_period(key.day_reserved, key.used_on, today) + u.held,
        month_spent = in_period(key.month_spent, key.used_on, month_first),
        month_reserved = in_period(key.month_reserved, key.used_on, month_first) + u.held,
        last_used_at = case when key.last_used_at > clock_timestamp() - interval '1 minute' then key.last_used_at else clock_timestamp() end
      from unnest(p_keys, held_by_key, begun_by_key) as u (id, held, begun)
      where key.id = u.id and key.id = any (p_keys) and u.begun > 0
    )
    insert into hold (id, project_id, key_id, kind, model_id, amount, expires_at, created_at, channel_id, channel_name, is_idempotent)
    select x.request_id, p_projects[x.p], p_keys[x.k], 'chat', x.model_id, x.credits,
           clock_timestamp() + make_interval(secs => x.hold_seconds), began, x.channel_id, x.channel_name,
           x.idempotency_key is not null
    from unnest(p_request_ids, p_project_of, p_key_of, p_model_ids, p_credits, p_hold_seconds, p_channel_ids,
                p_channel_names, p_idempotency_keys, is_admitted)
      as x (request_id, p, k, model_id, credits, hold_seconds, channel_id, channel_name, idempotency_key, is_admitted)
    where x.is_admitted;
  end if;
end $$;
