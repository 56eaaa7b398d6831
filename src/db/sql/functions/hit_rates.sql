-- Counts one request of each given key, in the given order. A key may come several times; p_rate_places is the place of each
-- request among those of its key. See count_rates.
create or replace function hit_rates(
  p_keys text[], p_rpms int[], p_rate_places int[], p_sender bigint, p_batch bigint, p_again boolean)
returns table (admitted boolean, remaining int, reset_after int, retry_after int)
language sql
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
  with counted as (
    select limited.keys, limited.rpms, rate.* from (
      select array_agg(key_id) as keys, array_agg(rpm) as rpms, array_agg(asked) as asked from (
        select key_id, max(rpm) as rpm, count(*)::int as asked from unnest(p_keys, p_rpms) as hit (key_id, rpm) group by key_id) by_key
    ) as limited, count_rates(keys, rpms, asked, p_sender, p_batch, p_again) as rate
  )
  select place <= granted[k], greatest(0, rpms[k] - used[k] - least(place, granted[k])), reset_after[k],
         case when place > granted[k] then reset_after[k] end
  from unnest(p_keys, p_rate_places) with ordinality as hit (key_id, place, ord) cross join counted
  cross join lateral (select array_position(keys, hit.key_id)) as found (k) order by ord;
$$;
