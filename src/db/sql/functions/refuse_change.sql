-- Refuses every UPDATE, DELETE and TRUNCATE of an append-only table.
create or replace function refuse_change() returns trigger
language plpgsql
as $$
begin
  raise exception 'entries of % are only ever added', tg_table_name using errcode = '55000';
end $$;
