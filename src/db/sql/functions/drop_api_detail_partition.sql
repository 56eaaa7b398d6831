-- Drops the oldest day of api_detail that is wholly older than p_days, if there is one: one day per transaction.
-- Runs as the owner of the tables, because the runtime role drops none. So it refuses fewer days than the owner has stored.
create or replace function drop_api_detail_partition(p_days int) returns table (dropped text, detail_rows bigint)
language plpgsql
security definer
set search_path = public, pg_temp
as $$
#variable_conflict use_column
begin
  if not exists (select from retention_floor where p_days >= api_detail_days) then
    raise exception 'days of api_detail younger than the retention are not dropped' using errcode = '55000';
  end if;
  perform pg_advisory_xact_lock(7107, hashtext('api_detail'));
  select c.relname::text into dropped from pg_inherits i join pg_class c on c.oid = i.inhrelid
  where i.inhparent = 'api_detail'::regclass and c.relname ~ '^api_detail_[0-9]{8}$'
    and c.relname < api_detail_partition((clock_timestamp() at time zone 'UTC')::date - p_days)
  order by c.relname limit 1;
  if dropped is null then return; end if;
  execute format('select count(*) from %I', dropped) into detail_rows;
  execute format('drop table %I', dropped);
  return next;
end $$;
