-- The name of the partition of api_detail for one day.
create or replace function api_detail_partition(p_day date) returns text
language sql immutable
as $$
  select 'api_detail_' || to_char(p_day, 'YYYYMMDD');
$$;
