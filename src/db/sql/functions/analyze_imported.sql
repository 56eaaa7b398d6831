-- Lets PostgreSQL count what a large import has added to these tables. Autovacuum does so later, in the ledger only once a million entries are
-- new. A check of the books after 10,000 projects takes 0.2 s instead of 0.6.
-- Runs as the owner of the tables, because the runtime role may not analyze them.
create or replace function analyze_imported() returns void
language plpgsql
security definer
set search_path = public, pg_temp
as $$
begin
  analyze project, api_key, api_key_secret, credit_account, deduction, ledger_entry, audit_entry, import_item;
end $$;
