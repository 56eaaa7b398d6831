-- The requests of a key that count against its rate at this moment, without counting one more.
create or replace function recent_requests(p_key_id text) returns int
language plpgsql
set enable_seqscan = off
as $$
begin
  -- counts[n] is n - 1 seconds older than the window's own second.
  return coalesce((
    select sum(c.n) from rate_window w cross join unnest(w.counts) with ordinality as c (n, slot)
    where w.key_id = p_key_id and w.second - (c.slot - 1) > floor(extract(epoch from clock_timestamp())) - 61), 0);
end $$;
