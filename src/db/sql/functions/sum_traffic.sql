-- Adds up the entries of the ledger after one and up to another that were written in a range of time, as the table traffic holds them.
-- A request counts at the time of the entry that ended it, with the cost of all of its attempts. The class of a task's time is -1000 less
-- latency_class, and that of a chat is latency_class, so that their medians stay apart. -2: the provider refused the request. -3: the client
-- left, charged or not, or canceled: neither is a success. -1: all other failures, and adjustments.
create or replace function sum_traffic(p_after bigint, p_through bigint, p_from timestamptz, p_before timestamptz)
returns table (slot timestamptz, latency_class int, succeeded bigint, failed bigint, credits bigint, cost_micro_usd bigint,
               first_entry_id bigint, last_entry_id bigint)
language sql
stable
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
  select date_bin('5 minutes', e.created_at, 'epoch'::timestamptz),
    case
      when e.reason in ('client_left', 'canceled') then -3
      when e.kind = 'settle' and e.request_id like 'task\_%' then -1000 - latency_class(extract(epoch from e.created_at - e.began_at)::float8 * 1000)
      when e.kind = 'settle' then latency_class(extract(epoch from e.created_at - e.began_at)::float8 * 1000)
      when e.kind = 'refund' and is_refusal(e.reason) then -2
      else -1 end,
    count(*) filter (where e.kind = 'settle' and e.reason is distinct from 'client_left'),
    count(*) filter (where e.kind = 'refund' or (e.kind = 'settle' and e.reason = 'client_left')), -sum(e.credits)::bigint,
    sum(case when e.kind = 'adjust' then 0 else coalesce(e.cost_micro_usd, (
      select sum(bought_cost(a.outcome, a.operation, a.cost_micro_usd)) from attempt a where a.request_id = e.request_id), 0) end)::bigint,
    min(e.id), max(e.id)
  -- "offset 0" keeps the planner from reading all entries of the range of time.
  from (select * from ledger_entry where id > p_after and id <= p_through offset 0) e
  where e.created_at >= p_from and e.created_at < p_before and e.kind in ('settle', 'refund', 'adjust')
  group by 1, 2
$$;
