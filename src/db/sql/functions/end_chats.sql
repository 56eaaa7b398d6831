-- Ends chats, each once: settles the given credits (never more than are held) or refunds the hold, decrements the key's
-- requests in flight, ends the last attempt, and binds or frees the idempotency key. The first call to commit decides; for a
-- chat that had ended before, ended is false and nothing changes.
--
-- Rows are looked up by the ids of the members. For a join alone, the planner reads the whole table while it is small, and the
-- session keeps that plan until the next ANALYZE, however much the table has grown.
create or replace function end_chats(members jsonb) returns table (ord int, ended boolean, charged bigint)
language plpgsql
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
begin
  perform lock_money(array_agg(distinct r.project_id), array_agg(distinct r.key_id)) from reservation r
  where r.id = any (array(select x.request_id from jsonb_to_recordset(members) as x (request_id text)));
  return query
    with given as materialized (
      select * from jsonb_to_recordset(members) as x (
        ord int, request_id text, settle bigint, channel_id text, input_tokens bigint, output_tokens bigint, usage_estimated boolean,
        attempt_id text, outcome text, error_class text, status int, detail text, cost_micro_usd bigint,
        answer_status int, answer_body text)
    ), ended as (
      update reservation r set
        state = case when g.settle is null then 'refunded' else 'settled' end,
        settled_amount = case when g.settle is not null then least(g.settle, r.amount) end,
        channel_id = g.channel_id, input_tokens = g.input_tokens, output_tokens = g.output_tokens,
        usage_estimated = coalesce(g.usage_estimated, false), ended_at = clock_timestamp()
      from given g
      where r.id = g.request_id and r.id = any (array(select request_id from given)) and r.state = 'held'
      returning g.ord, r.id, r.project_id, r.key_id, r.amount, coalesce(r.settled_amount, 0) as charged, r.state,
                g.answer_status, g.answer_body
    ), accounts as (
      update credit_account a set balance = a.balance + s.back, reserved = a.reserved - s.held
      from (select project_id, sum(amount - charged) as back, sum(amount) as held from ended group by 1) s
      where a.project_id = s.project_id and a.project_id = any (array(select project_id from ended))
    ), keys as (
      update api_key k set reserved = k.reserved - s.held, spent = k.spent + s.charged, in_flight = k.in_flight - s.chats
      from (select key_id, sum(amount) as held, sum(charged) as charged, count(*) as chats from ended group by 1) s
      where k.id = s.key_id and k.id = any (array(select key_id from ended))
    ), entries as (
      insert into ledger_entry (project_id, key_id, reservation_id, kind, d_balance, d_reserved)
      select e.project_id, e.key_id, e.id, case e.state when 'settled' then 'settle' else 'refund' end, e.amount - e.charged, -e.amount
      from ended e
    ), attempts as (
      update attempt a set outcome = g.outcome, error_class = g.error_class, status = g.status, detail = g.detail,
        cost_micro_usd = coalesce(g.cost_micro_usd, 0), ended_at = clock_timestamp()
      from given g
      where a.id = g.attempt_id and a.id = any (array(select attempt_id from given)) and a.outcome is null
    ), bound as (
      update idempotency i set status = e.answer_status, body = e.answer_body, bound_at = clock_timestamp()
      from ended e
      where i.request_id = e.id and i.request_id = any (array(select id from ended)) and e.state = 'settled'
        and e.answer_status is not null
    ), freed as (
      delete from idempotency i using ended e
      where i.request_id = e.id and i.request_id = any (array(select id from ended))
        and (e.state = 'refunded' or e.answer_status is null)
    )
    select answer.ord, answer.ended, answer.charged from (
      select e.ord, true, e.charged from ended e
      union all
      select g.ord, false, coalesce((select r.settled_amount from reservation r where r.id = g.request_id), 0) from given g
      where g.ord not in (select e.ord from ended e)
    ) as answer (ord, ended, charged) order by answer.ord;
end $$;
