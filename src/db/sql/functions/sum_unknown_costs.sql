-- Counts the calls whose cost is unknown, of the requests that sum_traffic adds up.
create or replace function sum_unknown_costs(p_after bigint, p_through bigint, p_from timestamptz, p_before timestamptz)
returns table (slot timestamptz, unknown_costs bigint)
language sql
stable
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
  select date_bin('5 minutes', e.created_at, 'epoch'::timestamptz), count(*)
  -- "offset 0" as in sum_traffic.
  from (select * from ledger_entry where id > p_after and id <= p_through offset 0) e
  cross join lateral (select * from attempt where attempt.request_id = e.request_id offset 0) a
  where e.created_at >= p_from and e.created_at < p_before and e.kind in ('settle', 'refund') and e.cost_micro_usd is null
    and has_unknown_cost(a.request_id, a.outcome, a.error_class, a.operation, a.cost_micro_usd)
  group by 1
$$;
