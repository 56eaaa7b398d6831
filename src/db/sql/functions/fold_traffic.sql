-- Adds the next entries of the ledger to the tables traffic, traffic_unknown_cost and usage_half_hour. What traffic has of the days before yesterday (UTC) becomes whole
-- hours, and goes after fifteen days; usage_half_hour keeps a hundred days. Returns how many entries were read. Entries younger than the lag wait for a later call, because entries with lower ids may not be committed yet. Every entry is
-- added once: a call that runs beside another one does nothing.
create or replace function fold_traffic(p_lag_seconds float8, p_limit int)
returns int
language plpgsql
set enable_seqscan = off
as $$
declare
  yesterday timestamptz := date_trunc('day', clock_timestamp(), 'UTC') - interval '1 day';
  since timestamptz := yesterday - interval '14 days';
  usage_since timestamptz := yesterday - interval '99 days';
  mark bigint;
  through bigint;
  found_entries int;
begin
  select through_entry_id into mark from traffic_mark for update skip locked;
  if not found then return 0; end if;
  select max(e.id), count(*) into through, found_entries
  from (select id, created_at from ledger_entry where id > mark order by id limit p_limit) e
  where e.created_at <= clock_timestamp() - make_interval(secs => p_lag_seconds);
  if found_entries = 0 then return 0; end if;
  insert into traffic as t
  select * from sum_traffic(mark, through, since, 'infinity')
  on conflict (slot, latency_class) do update set succeeded = t.succeeded + excluded.succeeded, failed = t.failed + excluded.failed,
    credits = t.credits + excluded.credits, cost_micro_usd = t.cost_micro_usd + excluded.cost_micro_usd,
    first_entry_id = least(t.first_entry_id, excluded.first_entry_id), last_entry_id = greatest(t.last_entry_id, excluded.last_entry_id);
  insert into traffic_unknown_cost as t
  select * from sum_unknown_costs(mark, through, since, 'infinity')
  on conflict (slot) do update set unknown_costs = t.unknown_costs + excluded.unknown_costs;
  insert into usage_half_hour as t (slot, project_id, key_id, model_id, successes, failures, credits_charged, input_tokens, output_tokens,
                                    cached_input_tokens, cache_write_tokens, cache_write_1h_tokens, reasoning_tokens)
  select date_bin('30 minutes', e.created_at, 'epoch'), e.project_id, coalesce(e.key_id, ''), coalesce(e.model_id, ''), count(*) filter (where e.kind = 'settle'),
    count(*) filter (where e.kind = 'refund'), -sum(e.credits), coalesce(sum(e.input_tokens), 0), coalesce(sum(e.output_tokens), 0),
    coalesce(sum(e.cached_input_tokens), 0), coalesce(sum(e.cache_write_tokens), 0), coalesce(sum(e.cache_write_1h_tokens), 0), coalesce(sum(e.reasoning_tokens), 0)
  from (select * from ledger_entry where id > mark and id <= through offset 0) e
  where e.created_at >= usage_since and e.kind in ('settle', 'refund', 'adjust')
  group by 1, 2, 3, 4
  -- Rows that are read together are written together.
  order by 1, 2, 3, 4
  on conflict (slot, project_id, key_id, model_id) do update set successes = t.successes + excluded.successes,
    failures = t.failures + excluded.failures, credits_charged = t.credits_charged + excluded.credits_charged,
    input_tokens = t.input_tokens + excluded.input_tokens, output_tokens = t.output_tokens + excluded.output_tokens,
    cached_input_tokens = t.cached_input_tokens + excluded.cached_input_tokens, cache_write_tokens = t.cache_write_tokens + excluded.cache_write_tokens,
    cache_write_1h_tokens = t.cache_write_1h_tokens + excluded.cache_write_1h_tokens, reasoning_tokens = t.reasoning_tokens + excluded.reasoning_tokens;
  update traffic_mark set through_entry_id = through;
  delete from traffic where slot < since;
  delete from traffic_unknown_cost where slot < since;
  with fine as (
    delete from traffic where slot < yesterday and slot <> date_trunc('hour', slot, 'UTC') returning *
  )
  insert into traffic as t
  select date_trunc('hour', slot, 'UTC'), latency_class, sum(succeeded), sum(failed), sum(credits), sum(cost_micro_usd), min(first_entry_id),
    max(last_entry_id)
  from fine group by 1, 2 order by 1, 2
  on conflict (slot, latency_class) do update set succeeded = t.succeeded + excluded.succeeded, failed = t.failed + excluded.failed,
    credits = t.credits + excluded.credits, cost_micro_usd = t.cost_micro_usd + excluded.cost_micro_usd,
    first_entry_id = least(t.first_entry_id, excluded.first_entry_id), last_entry_id = greatest(t.last_entry_id, excluded.last_entry_id);
  delete from usage_half_hour where slot < usage_since;
  return found_entries;
end $$;
