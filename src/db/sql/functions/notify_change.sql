-- Tells the caches of all processes which table changed. No trigger of admission or settlement may call this function:
-- NOTIFY makes commits wait for each other.
create or replace function notify_change() returns trigger
language plpgsql
as $$
begin
  perform pg_notify('tollgate_change', tg_table_name);
  return null;
end $$;
