-- Refuses every UPDATE, DELETE and TRUNCATE of a table: the ledger is append-only.
create or replace function refuse_change() returns trigger
language plpgsql
as $$
begin
  raise exception 'ledger entries are only ever added' using errcode = '55000';
end $$;
