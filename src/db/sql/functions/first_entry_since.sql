-- The lowest id from which on the entries of the ledger were written at p_at or later. Ids are in the order of time, but for what was
-- written at the same moment, so it is found by halving the range of ids: about 40 probes of the primary key, however long the ledger is.
create or replace function first_entry_since(p_at timestamptz) returns bigint
language plpgsql
stable
set enable_seqscan = off
-- A caller that has each of its own statements planned anew does not want this of the probes, of which it may need a million.
set plan_cache_mode = auto
as $$
declare
  -- Every entry up to `low` is earlier, and every entry from `high` on is not.
  low bigint := 0;
  high bigint := coalesce((select max(id) from ledger_entry), 0) + 1;
  middle bigint;
  probe record;
begin
  while high - low > 1 loop
    middle := low + (high - low) / 2;
    select e.id, e.created_at into probe from ledger_entry e where e.id >= middle and e.id < high order by e.id limit 1;
    if probe.created_at < p_at then
      low := probe.id;
    else
      high := middle;
    end if;
  end loop;
  return high;
end $$;
