-- Counts requests of keys with a rate limit, in the given order: at most rpm requests are admitted in any 60 seconds. The
-- window has 61 slots of one second by the clock of the database; a slot never goes back when that clock does.
-- One statement serves all keys of a batch. Locks are taken in the order of their hash.
-- A request that is asked again after a lost connection counts once: each slot has the hashes of its requests, and an earlier
-- statement that still runs holds the lock until it has committed.
create or replace function hit_rates(keys text[], rpms int[], requests text[], asked_again boolean)
returns table (ord int, admitted boolean, remaining int, reset_after int, retry_after int)
language plpgsql
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  second bigint;
begin
  perform pg_advisory_xact_lock(7105, hashes.hash)
  from (select distinct hashtext(key_id) as hash from unnest(keys) as key_id order by 1) hashes;
  second := floor(extract(epoch from clock_timestamp()))::bigint;
  return query
    with asked as materialized (
      select a.key_id, a.rpm, a.ord, h.request,
             asked_again and exists (
               select from rate_slot r where r.key_id = a.key_id and h.request = any (r.requests)
             ) as counted
      from unnest(keys, rpms, requests) with ordinality as a (key_id, rpm, request_id, ord)
      cross join lateral (select hashtextextended(a.request_id, 0) as request) h
    ), placed as materialized (
      select a.*, row_number() over (partition by a.key_id, a.counted order by a.ord) as place from asked a
    ), wanted as materialized (
      select p.key_id, max(p.rpm) as rpm, (count(*) filter (where not p.counted))::int as asked from placed p group by p.key_id
    ), granted as materialized (
      select w.key_id, w.rpm, latest.slot as current_slot, counted.used, coalesce(counted.oldest, latest.slot) as oldest,
             greatest(0, least(w.asked, w.rpm - counted.used))::int as free
      from wanted w
      cross join lateral (
        select greatest(second, coalesce(max(r.slot), second)) as slot from rate_slot r where r.key_id = w.key_id
      ) latest
      cross join lateral (
        select coalesce(sum(r.n), 0) as used, min(r.slot) as oldest from rate_slot r
        where r.key_id = w.key_id and r.slot > latest.slot - 61
      ) counted
    ), gone as (
      delete from rate_slot r using granted g
      where r.key_id = g.key_id and r.key_id = any (keys) and r.slot <= g.current_slot - 61
    ), added as (
      insert into rate_slot (key_id, slot, n, requests)
      select g.key_id, g.current_slot, g.free,
             array(select p.request from placed p where p.key_id = g.key_id and not p.counted and p.place <= g.free)
      from granted g where g.free > 0
      on conflict (key_id, slot) do update
      set n = rate_slot.n + excluded.n, requests = rate_slot.requests || excluded.requests
    )
    select p.ord::int, p.counted or p.place <= g.free,
           greatest(0, g.rpm - g.used - case when p.counted then g.free else least(p.place, g.free) end)::int,
           greatest(1, g.oldest + 61 - second)::int,
           case when not p.counted and p.place > g.free then greatest(1, g.oldest + 61 - second)::int end
    from placed p join granted g on g.key_id = p.key_id order by p.ord;
end $$;
