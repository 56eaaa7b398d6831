-- Counts requests of keys with a rate limit: of the p_asked requests of each key it grants the first ones, so that at most p_rpms
-- are granted in any 60 seconds. Each array has one element per key; a key without a limit gets null. The window has 61 slots of one
-- second by the clock of the database; it never goes back when that clock does. Returns how many are granted, how many were used
-- before, and the seconds until the oldest counted request no longer counts.
-- p_sender sends its batches one after another. With p_again, a batch that was counted before returns what it was granted then.
-- Its caller sets enable_seqscan and plan_cache_mode.
create or replace function count_rates(
  p_keys text[], p_rpms int[], p_asked int[], p_sender bigint, p_batch bigint, p_again boolean,
  out granted int[], out used int[], out reset_after int[])
language plpgsql
as $$
declare
  this_second bigint := floor(extract(epoch from clock_timestamp()))::bigint;
begin
  loop
    with locked as materialized (
      select r.* from rate_window r where r.key_id = any (p_keys) order by r.key_id for no key update
    ), moved as materialized (
      -- Every window as it is at its newest second, and the place of this sender among those that it remembers.
      select limited.n, limited.rpm, limited.asked, r.key_id, at.newest, at.shift, r.counts, r.oldest, sender.place,
        case when p_again and r.last_batches[sender.place] = p_batch then r.last_granted[sender.place] end as granted_before,
        r.total - case when at.shift = 0 then 0 else (select sum(n)::int from unnest(r.counts[62 - at.shift:61]) n) end as in_use,
        r.senders, r.last_batches, r.last_granted
      from unnest(p_keys, p_rpms, p_asked) with ordinality as limited (key_id, rpm, asked, n)
      join locked r on r.key_id = limited.key_id
      cross join lateral (select greatest(this_second, r.second) as newest, least(greatest(this_second, r.second) - r.second, 61)::int as shift) at
      cross join lateral (select array_position(r.senders, p_sender) as place) sender
      where limited.rpm is not null
    ), decided as materialized (
      select m.*, coalesce(m.granted_before, greatest(0, least(m.asked, m.rpm - m.in_use))) as now_granted,
        case when m.in_use = 0 then m.newest when m.oldest > m.newest - 61 then m.oldest
             else (select m.newest - m.shift + 1 - max(slot) from unnest(m.counts[1:61 - m.shift]) with ordinality as c (n, slot) where c.n > 0)
        end as now_oldest
      from moved m
    ), written as (
      update rate_window r set second = d.newest, oldest = d.now_oldest, total = d.in_use + d.now_granted,
        counts = array[d.now_granted + case when d.shift = 0 then d.counts[1] else 0 end] || array_fill(0, array[greatest(d.shift - 1, 0)])
                 || d.counts[case when d.shift = 0 then 2 else 1 end:61 - d.shift],
        -- The sender moves to the end. It remembers 64 of them.
        senders = d.senders[1:coalesce(d.place, 0) - 1] || d.senders[coalesce(d.place + 1, cardinality(d.senders) - 62):] || p_sender,
        last_batches = d.last_batches[1:coalesce(d.place, 0) - 1]
                       || d.last_batches[coalesce(d.place + 1, cardinality(d.last_batches) - 62):] || p_batch,
        last_granted = d.last_granted[1:coalesce(d.place, 0) - 1]
                       || d.last_granted[coalesce(d.place + 1, cardinality(d.last_granted) - 62):] || d.now_granted
      from decided d where r.key_id = d.key_id and r.key_id = any (p_keys) and d.granted_before is null
        and (select count(*) from decided) = cardinality(array_remove(p_rpms, null))
    )
    select array_agg(d.now_granted order by given.n), array_agg(d.in_use - coalesce(d.granted_before, 0) order by given.n),
           array_agg(greatest(1, d.now_oldest + 61 - this_second)::int order by given.n)
    into granted, used, reset_after
    from unnest(p_rpms) with ordinality as given (rpm, n) left join decided d on d.n = given.n
    having bool_and(given.rpm is null or d.n is not null);
    exit when found;
    -- Keys that were never counted before.
    insert into rate_window (key_id, second, oldest, counts, total)
    select limited.key_id, this_second, this_second, array_fill(0, array[61]), 0
    from unnest(p_keys, p_rpms) as limited (key_id, rpm) where limited.rpm is not null order by limited.key_id
    on conflict do nothing;
  end loop;
end $$;
