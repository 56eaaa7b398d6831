-- What the entries of the ledger after one and up to another came to, by the rules of rebuild_summary: a request counts at the time of the entry
-- that ended it, on the channel that won it or on the last one tried. The cost of a call counts on its own channel, at the time when the call
-- began, because the provider bills on accept.
create or replace function spend_facts(p_after bigint, p_through bigint)
returns table (at timestamptz, project_id text, key_id text, model_id text, channel_id text, successes int, failures int, refusals int,
               left_charged int, left_refunded int, credits_charged bigint, cost_micro_usd bigint, unknown_costs int,
               input_tokens bigint, output_tokens bigint, cached_input_tokens bigint, cache_write_tokens bigint, cache_write_1h_tokens bigint, reasoning_tokens bigint)
language sql
stable
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
  with entry as materialized (
    -- In this order, so that the planner reads them by the primary key however many it expects.
    select * from (select * from ledger_entry where id > p_after and id <= p_through order by id offset 0) e
    where e.kind in ('settle', 'refund', 'adjust')
  )
  select e.created_at, e.project_id, coalesce(e.key_id, ''), coalesce(e.model_id, ''),
    coalesce(e.channel_id,
             case when e.kind = 'refund' then (select a.channel_id from attempt a where a.request_id = e.request_id order by a.n desc limit 1) end,
             ''),
    (e.kind = 'settle')::int, (e.kind = 'refund')::int, (e.kind = 'refund' and is_refusal(e.reason))::int,
    (e.kind = 'settle' and has_left(e.reason))::int, (e.kind = 'refund' and has_left(e.reason))::int, -e.credits, 0, 0,
    case when e.kind = 'settle' then coalesce(e.input_tokens, 0) else 0 end, case when e.kind = 'settle' then coalesce(e.output_tokens, 0) else 0 end,
    coalesce(e.cached_input_tokens, 0), coalesce(e.cache_write_tokens, 0), coalesce(e.cache_write_1h_tokens, 0), coalesce(e.reasoning_tokens, 0)
  from entry e
  union all
  select e.began_at, e.project_id, coalesce(e.key_id, ''), coalesce(e.model_id, ''), coalesce(e.channel_id, ''), 0, 0, 0, 0, 0, 0, e.cost_micro_usd,
    0, 0, 0, 0, 0, 0, 0
  from entry e where e.cost_micro_usd <> 0
  union all
  select a.started_at, e.project_id, coalesce(e.key_id, ''), coalesce(e.model_id, ''), a.channel_id, 0, 0, 0, 0, 0, 0, a.bought, a.is_unknown::int,
    0, 0, 0, 0, 0, 0
  from entry e cross join lateral (
    select started_at, channel_id, bought_cost(outcome, operation, cost_micro_usd) as bought,
      has_unknown_cost(request_id, outcome, error_class, operation, cost_micro_usd) as is_unknown
    from attempt where attempt.request_id = e.request_id offset 0) a
  where e.kind <> 'adjust' and e.cost_micro_usd is null and (a.bought <> 0 or a.is_unknown)
$$;
