-- Lets PostgreSQL count what a large import has added to these tables. Autovacuum does so much later, and only once a million entries are new
-- in the ledger; until then a check of the books is planned for empty tables.
-- Runs as the owner of the tables, because the runtime role may not analyze them.
create or replace function analyze_imported() returns void
language plpgsql
security definer
set search_path = public, pg_temp
as $$
begin
  analyze project, api_key, api_key_secret, credit_account, deduction, ledger_entry, audit_entry, import_item;
end $$;
