-- Adds the next entries of the ledger to usage_slot, and deletes what is older than a hundred days. Returns how many entries were read. Entries
-- younger than the lag wait for a later call, because entries with lower ids may not be committed yet. Every entry is added once: a call
-- that runs beside another one does nothing. The first call begins with the entries of the last hundred days.
create or replace function fold_usage(p_lag_seconds float8, p_limit int)
returns int
language plpgsql
set enable_seqscan = off
as $$
declare
  since timestamptz := date_trunc('day', clock_timestamp(), 'UTC') - interval '100 days';
  mark bigint;
  through bigint;
  found_entries int;
begin
  select coalesce(through_entry_id, -1) into mark from usage_mark for update skip locked;
  if not found then return 0; end if;
  if mark = -1 then mark := first_entry_since(since) - 1; end if;
  select max(e.id), count(*) into through, found_entries
  from (select id, created_at from ledger_entry where id > mark order by id limit p_limit) e
  where e.created_at <= clock_timestamp() - make_interval(secs => p_lag_seconds);
  if found_entries = 0 then return 0; end if;
  insert into usage_slot as t (slot, project_id, key_id, model_id, channel_id, successes, failures, refusals, left_charged, left_refunded,
                               credits_charged, cost_micro_usd, unknown_costs, input_tokens, output_tokens, cached_input_tokens, cache_write_tokens,
                               cache_write_1h_tokens, reasoning_tokens)
  select date_bin('30 minutes', f.at, 'epoch'), f.project_id, f.key_id, f.model_id, f.channel_id, sum(f.successes), sum(f.failures),
    sum(f.refusals), sum(f.left_charged), sum(f.left_refunded), sum(f.credits_charged), sum(f.cost_micro_usd),
    sum(f.unknown_costs), sum(f.input_tokens), sum(f.output_tokens), sum(f.cached_input_tokens), sum(f.cache_write_tokens), sum(f.cache_write_1h_tokens), sum(f.reasoning_tokens)
  from spend_facts(mark, through) f where f.at >= since
  group by 1, 2, 3, 4, 5
  -- Rows that are read together are written together.
  order by 1, 2, 3, 4, 5
  on conflict (slot, project_id, key_id, model_id, channel_id) do update set successes = t.successes + excluded.successes,
    failures = t.failures + excluded.failures, refusals = t.refusals + excluded.refusals,
    left_charged = t.left_charged + excluded.left_charged, left_refunded = t.left_refunded + excluded.left_refunded,
    unknown_costs = t.unknown_costs + excluded.unknown_costs, credits_charged = t.credits_charged + excluded.credits_charged,
    cost_micro_usd = t.cost_micro_usd + excluded.cost_micro_usd, input_tokens = t.input_tokens + excluded.input_tokens,
    output_tokens = t.output_tokens + excluded.output_tokens, cached_input_tokens = t.cached_input_tokens + excluded.cached_input_tokens,
    cache_write_tokens = t.cache_write_tokens + excluded.cache_write_tokens,
    cache_write_1h_tokens = t.cache_write_1h_tokens + excluded.cache_write_1h_tokens, reasoning_tokens = t.reasoning_tokens + excluded.reasoning_tokens;
  update usage_mark set through_entry_id = through;
  delete from usage_slot where slot < since;
  return found_entries;
end $$;
