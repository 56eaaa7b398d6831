-- Drops the oldest day of api_detail that is wholly older than p_days, if there is one: one day per transaction.
create or replace function drop_api_detail_partition(p_days int) returns table (dropped text, detail_rows bigint)
language plpgsql
as $$
#variable_conflict use_column
begin
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
