-- Ends chats, each once: settles the given credits (never more than are held) or refunds the hold, decrements the key's
-- requests in flight, ends the last attempt, and binds or frees the idempotency key. The first call to commit decides; for a
-- chat that had ended before, ended is false and nothing changes. Each array has one element per chat. A reason says why a chat is
-- refunded, or why an answer that is charged is not whole (src/domain/chat/chat-end-reason.ts); it is null for a whole one.
create or replace function finish_chats(
  p_request_ids text[], p_settled bigint[], p_channel_ids text[], p_input_tokens bigint[], p_output_tokens bigint[],
  p_usage_estimated boolean[], p_delivered_tokens int[], p_costs_micro_usd bigint[], p_attempt_ids text[], p_outcomes text[], p_error_classes text[],
  p_statuses int[], p_details text[], p_answer_statuses int[], p_answer_bodies text[], p_reasons text[],
  p_cached_input_tokens bigint[], p_cache_write_tokens bigint[], p_cache_write_1h_tokens bigint[], p_reasoning_tokens bigint[])
returns table (ended boolean, charged bigint)
language plpgsql
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  charges bigint[];
  -- The holds that this call may end. A statement that its caller has given up may still commit one after they were read. That one is refunded
  -- when it expires: its account is not locked here, and the day of its key is not known.
  held_ids text[];
  held_projects text[];
  held_keys text[];
  -- The latest day on which one of the keys was used. No hold began later.
  latest_day date;
  month_first date;
  any_other_attempt boolean;
  any_idempotent boolean;
  returned jsonb;
begin
  select array_agg(h.id), array_agg(h.project_id), array_agg(h.key_id) into held_ids, held_projects, held_keys
  from hold h where h.id = any (p_request_ids);
  perform lock_accounts(coalesce(held_projects, '{}'));
  latest_day := (select max(k.used_on) from api_key k where k.id = any (held_keys));
  month_first := date_trunc('month', latest_day::timestamp)::date;
  with given as materialized (
    select * from unnest(p_request_ids, p_settled, p_channel_ids, p_input_tokens, p_output_tokens, p_usage_estimated,
                         p_delivered_tokens, p_costs_micro_usd, p_attempt_ids, p_outcomes, p_error_classes, p_statuses, p_details,
                         p_reasons, p_cached_input_tokens, p_cache_write_tokens, p_cache_write_1h_tokens, p_reasoning_tokens)
      with ordinality as x (request_id, settled, won_by, input_tokens, output_tokens, usage_estimated,
                            delivered_tokens, cost_micro_usd, ended_attempt_id, outcome, error_class, status, detail, reason,
                            cached_input_tokens, cache_write_tokens, cache_write_1h_tokens, reasoning_tokens, n)
  ), released as (
    delete from hold h where h.id = any (held_ids) returning h.*, first_attempt_id(h.id) as first_attempt_id
  ), over as materialized (
    select r.*, g.*, case when g.settled is null then 0 else least(g.settled, r.amount) end as charged,
      g.ended_attempt_id = r.first_attempt_id and g.outcome = 'ok' as at_once, (r.created_at at time zone 'UTC')::date as began_on
    from released r join given g on g.request_id = r.id
  ), accounts as (
    update credit_account a set balance = a.balance + s.back, reserved = a.reserved - s.held
    from (select project_id, sum(amount - charged) as back, sum(amount) as held from over group by 1) s
    where a.project_id = s.project_id and a.project_id = any (array(select project_id from over))
    returning a.project_id, a.balance + a.reserved as total
  ), keys as (
    update api_key k set reserved = k.reserved - s.held, spent = k.spent + s.charged, in_flight = k.in_flight - s.chats, used_on = latest_day,
      day_spent = in_period(k.day_spent, k.used_on, latest_day) + s.day_charged,
      day_reserved = in_period(k.day_reserved, k.used_on, latest_day) - s.day_held,
      month_spent = in_period(k.month_spent, k.used_on, month_first) + s.month_charged,
      month_reserved = in_period(k.month_reserved, k.used_on, month_first) - s.month_held
    from (
      select key_id, sum(amount) as held, sum(charged) as charged, count(*) as chats,
        coalesce(sum(amount) filter (where began_on >= latest_day), 0) as day_held,
        coalesce(sum(charged) filter (where began_on >= latest_day), 0) as day_charged,
        coalesce(sum(amount) filter (where began_on >= month_first), 0) as month_held,
        coalesce(sum(charged) filter (where began_on >= month_first), 0) as month_charged
      from over group by 1) s
    where k.id = s.key_id and k.id = any (array(select key_id from over))
  ), entries as (
    insert into ledger_entry (project_id, kind, credits, balance_after, key_id, request_id, model_id, channel_id, held, input_tokens, output_tokens,
                              usage_estimated, delivered_tokens, cost_micro_usd, reason, began_at,
                              cached_input_tokens, cache_write_tokens, cache_write_1h_tokens, reasoning_tokens)
    select o.project_id, case when o.settled is null then 'refund' else 'settle' end, -o.charged,
      -- What the later ones of this batch take is still in the account.
      a.total + coalesce(sum(o.charged) over (partition by o.project_id order by o.n rows between 1 following and unbounded following), 0),
      o.key_id, o.id, o.model_id, o.won_by, o.amount, o.input_tokens, o.output_tokens, o.usage_estimated, o.delivered_tokens,
      case when o.at_once then o.cost_micro_usd end, o.reason, o.created_at,
      o.cached_input_tokens, o.cache_write_tokens, o.cache_write_1h_tokens, o.reasoning_tokens
    from over o join accounts a on a.project_id = o.project_id order by o.n
  ), first_attempts as (
    insert into attempt (id, request_id, n, channel_id, channel_name, fence, submit_deadline, model_id, started_at,
                         outcome, error_class, status, detail, cost_micro_usd, ended_at)
    select first_attempt_id, id, 1, channel_id, channel_name, first_attempt_id, expires_at, model_id, created_at,
      outcome, error_class, status, detail, coalesce(cost_micro_usd, 0), clock_timestamp()
    from over where ended_attempt_id = first_attempt_id and not at_once
    on conflict do nothing
  )
  select array_agg(case when o.id is not null then o.charged end order by g.n), bool_or(o.is_idempotent),
         bool_or(g.ended_attempt_id is distinct from o.first_attempt_id),
         jsonb_agg(jsonb_build_object('project_id', o.project_id, 'n', o.grant_interval, 'back', o.amount - o.charged))
           filter (where o.grant_interval is not null and o.amount > o.charged)
  into charges, any_idempotent, any_other_attempt, returned
  from given g left join over o on o.n = g.n;

  if returned is not null then perform return_to_grants(returned); end if;
  if any_other_attempt then
    update attempt a set outcome = x.outcome, error_class = x.error_class, status = x.status, detail = x.detail,
      cost_micro_usd = coalesce(x.cost_micro_usd, 0), ended_at = clock_timestamp()
    from unnest(p_attempt_ids, p_outcomes, p_error_classes, p_statuses, p_details, p_costs_micro_usd)
      as x (attempt_id, outcome, error_class, status, detail, cost_micro_usd)
    where a.id = x.attempt_id and a.id = any (p_attempt_ids) and a.outcome is null;
  end if;
  if any_idempotent then
    update idempotency i set status = x.answer_status, body = x.answer_body, bound_at = clock_timestamp()
    from unnest(p_request_ids, p_settled, p_answer_statuses, p_answer_bodies, charges)
      as x (request_id, settled, answer_status, answer_body, charged)
    where i.request_id = x.request_id and i.request_id = any (p_request_ids)
      and x.charged is not null and x.settled is not null and x.answer_status is not null;
    delete from idempotency i
    using unnest(p_request_ids, p_settled, p_answer_statuses, charges) as x (request_id, settled, answer_status, charged)
    where i.request_id = x.request_id and i.request_id = any (p_request_ids)
      and x.charged is not null and (x.settled is null or x.answer_status is null)
      -- A chat that lost its client stays, for a repetition of its request (src/db/idempotency.ts).
      and i.route not like 'undelivered %';
  end if;
  return query
    select x.charged is not null, coalesce(x.charged, (
      select -e.credits from ledger_entry e where e.request_id = x.request_id and e.kind in ('settle', 'refund')), 0)
    from unnest(p_request_ids, charges) with ordinality as x (request_id, charged, n) order by x.n;
end $$;
