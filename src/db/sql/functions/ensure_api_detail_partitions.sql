-- Creates the missing partitions of api_detail for yesterday, today and tomorrow, and returns how many were missing.
-- Yesterday's is needed because a row may be written just after midnight.
-- Runs as the owner of the tables, because the runtime role creates none. PostgreSQL puts a new table into the first schema of the
-- search path, and finds a caller's temporary tables last.
create or replace function ensure_api_detail_partitions() returns int
language plpgsql
security definer
set search_path = public, pg_temp
as $$
declare
  today date := (clock_timestamp() at time zone 'UTC')::date;
  made int := 0;
begin
  if not exists (select from generate_series(-1, 1) n where to_regclass(api_detail_partition(today + n)) is null) then
    return 0;
  end if;
  perform pg_advisory_xact_lock(7107, hashtext('api_detail'));
  for n in -1..1 loop
    if to_regclass(api_detail_partition(today + n)) is null then
      execute format('create table %I partition of api_detail for values from (%L) to (%L)', api_detail_partition(today + n),
                     to_char(today + n, 'YYYY-MM-DD') || ' 00:00:00+00', to_char(today + n + 1, 'YYYY-MM-DD') || ' 00:00:00+00');
      made := made + 1;
    end if;
  end loop;
  return made;
end $$;
