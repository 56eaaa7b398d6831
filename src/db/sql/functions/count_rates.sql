-- Counts requests of keys with a rate limit: of the p_asked requests of each key it grants the first ones, so that at most p_rpms
-- are granted in any 60 seconds. Each array has one element per key; a key without a limit is left out. The window has 61 slots of one second by the clock of the
-- database; it never goes back when that clock does. Returns how many are granted, how many were used before, and the seconds until
-- the oldest counted request no longer counts.
-- p_sender sends its batches one after another. With p_again, a batch that was counted before returns what it was granted then.
create or replace function count_rates(
  p_keys text[], p_rpms int[], p_asked int[], p_sender bigint, p_batch bigint, p_again boolean,
  out granted int[], out used int[], out reset_after int[])
language plpgsql
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  this_second bigint := floor(extract(epoch from clock_timestamp()))::bigint;
  senders_max constant int := 64;
  w record;
  window_counts int[];
  newest bigint;
  first_second bigint;
  in_use int;
  shift int;
  taken int;
  sender int;
  missing int := cardinality(array_remove(p_rpms, null));
begin
  granted := array_fill(null::int, array[cardinality(p_keys)]);
  used := granted;
  reset_after := granted;
  -- A second turn finds the rows of keys that were never counted before.
  for turn in 1..2 loop
    for w in
      select asked.n, r.* from unnest(p_keys) with ordinality as asked (key_id, n) join rate_window r on r.key_id = asked.key_id
      where r.key_id = any (p_keys) and p_rpms[asked.n] is not null and granted[asked.n] is null
      order by r.key_id for no key update of r
    loop
      missing := missing - 1;
      window_counts := w.counts;
      in_use := w.total;
      first_second := w.oldest;
      newest := greatest(this_second, w.second);
      shift := least(newest - w.second, 61);
      if shift = 61 then
        window_counts := array_fill(0, array[61]);
        in_use := 0;
      elsif shift > 0 then
        in_use := in_use - (select sum(n) from unnest(window_counts[62 - shift:61]) n)::int;
        window_counts := array_fill(0, array[shift]) || window_counts[1:61 - shift];
      end if;
      if in_use = 0 then
        first_second := newest;
      elsif first_second <= newest - 61 then
        first_second := newest - 60;
        while window_counts[newest - first_second + 1] = 0 loop
          first_second := first_second + 1;
        end loop;
      end if;
      sender := array_position(w.senders, p_sender);
      if p_again and w.last_batches[sender] = p_batch then
        granted[w.n] := w.last_granted[sender];
        used[w.n] := greatest(0, in_use - w.last_granted[sender]);
      else
        taken := greatest(0, least(p_asked[w.n], p_rpms[w.n] - in_use));
        granted[w.n] := taken;
        used[w.n] := in_use;
        window_counts[1] := window_counts[1] + taken;
        if sender is null then
          if cardinality(w.senders) >= senders_max then
            w.senders := w.senders[2:];
            w.last_batches := w.last_batches[2:];
            w.last_granted := w.last_granted[2:];
          end if;
          sender := cardinality(w.senders) + 1;
        end if;
        w.senders[sender] := p_sender;
        w.last_batches[sender] := p_batch;
        w.last_granted[sender] := taken;
        update rate_window r set second = newest, oldest = first_second, counts = window_counts, total = in_use + taken,
          senders = w.senders, last_batches = w.last_batches, last_granted = w.last_granted
        where r.key_id = w.key_id;
      end if;
      reset_after[w.n] := greatest(1, first_second + 61 - this_second);
    end loop;
    exit when missing = 0;
    insert into rate_window (key_id, second, oldest, counts, total)
    select key_id, this_second, this_second, array_fill(0, array[61]), 0
    from unnest(p_keys, p_rpms) as limited (key_id, rpm) where rpm is not null order by key_id
    on conflict do nothing;
  end loop;
end $$;
