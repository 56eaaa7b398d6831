-- finish_chats for one chat that its only call answered: the same row and the same result, by two statements inside instead of six. It decides
-- only what most chats are: still held, without an idempotency key, and paid by the present grants of its account. Everything else it leaves to
-- finish_chats, before it has written anything.
create or replace function finish_chats_alone(
  p_request_id text, p_settled bigint, p_channel_id text, p_input_tokens bigint, p_output_tokens bigint, p_usage_estimated boolean,
  p_delivered_tokens int, p_cost_micro_usd bigint, p_reason text,
  p_cached_input_tokens bigint, p_cache_write_tokens bigint, p_cache_write_1h_tokens bigint, p_reasoning_tokens bigint,
  out ended boolean, out charged bigint)
language plpgsql
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
begin
  -- The lock is that of lock_accounts.
  perform pg_advisory_xact_lock(7106, hashtext(h.project_id)) from hold h where h.id = p_request_id;
  with released as (
    delete from hold h where h.id = p_request_id and not h.is_idempotent and (h.grant_interval is null or h.amount <= p_settled)
    returning h.*
  ), released_with_key as materialized (
    select r.*, least(p_settled, r.amount) as charge, k.used_on as latest_day, date_trunc('month', k.used_on::timestamp)::date as month_first,
      (r.created_at at time zone 'UTC')::date as began_on
    from released r left join api_key k on k.id = r.key_id
  ), account as (
    update credit_account a set balance = a.balance + o.amount - o.charge, reserved = a.reserved - o.amount
    from released_with_key o where a.project_id = o.project_id
    returning a.balance + a.reserved as total
  ), key as (
    update api_key k set reserved = k.reserved - o.amount, spent = k.spent + o.charge, in_flight = k.in_flight - 1,
      day_spent = k.day_spent + case when o.began_on >= o.latest_day then o.charge else 0 end,
      day_reserved = k.day_reserved - case when o.began_on >= o.latest_day then o.amount else 0 end,
      month_spent = k.month_spent + case when o.began_on >= o.month_first then o.charge else 0 end,
      month_reserved = k.month_reserved - case when o.began_on >= o.month_first then o.amount else 0 end
    from released_with_key o where k.id = o.key_id
  )
  insert into ledger_entry (project_id, kind, credits, balance_after, key_id, request_id, model_id, channel_id, held, input_tokens, output_tokens,
                            usage_estimated, delivered_tokens, cost_micro_usd, reason, began_at,
                            cached_input_tokens, cache_write_tokens, cache_write_1h_tokens, reasoning_tokens)
  select o.project_id, 'settle', -o.charge, a.total, o.key_id, o.id, o.model_id, p_channel_id, o.amount, p_input_tokens, p_output_tokens,
    p_usage_estimated, p_delivered_tokens, p_cost_micro_usd, p_reason, o.created_at,
    p_cached_input_tokens, p_cache_write_tokens, p_cache_write_1h_tokens, p_reasoning_tokens
  from released_with_key o cross join account a
  returning true, -credits into ended, charged;
  if ended is null then
    select f.* into ended, charged from finish_chats(
      array[p_request_id], array[p_settled], array[p_channel_id], array[p_input_tokens], array[p_output_tokens], array[p_usage_estimated],
      array[p_delivered_tokens], array[p_cost_micro_usd], array[first_attempt_id(p_request_id)], array['ok'], array[null]::text[],
      array[null]::int[], array[null]::text[], array[null]::int[], array[null]::text[], array[p_reason],
      array[p_cached_input_tokens], array[p_cache_write_tokens], array[p_cache_write_1h_tokens], array[p_reasoning_tokens]) f;
  end if;
end $$;
