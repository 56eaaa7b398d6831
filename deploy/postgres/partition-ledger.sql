-- Turns ledger_entry into a table partitioned by ranges of id (docs/SCALING.md). The existing table becomes the first partition: no row is copied.
-- For psql, as the owner of the tables. Each partition has tollgate.partition_entries entries, by default 100,000,000.

-- First without blocking anybody: a proof that all ids of the existing table are below the end of the first partition, which may grow until then.
do $$
declare
  entries bigint := coalesce(nullif(current_setting('tollgate.partition_entries', true), ''), '100000000');
begin
  execute format('alter table ledger_entry add constraint ledger_entry_first_ids check (id < %s) not valid',
    (coalesce((select max(id) from ledger_entry), 0) / entries + 2) * entries);
end $$;
alter table ledger_entry validate constraint ledger_entry_first_ids;
alter table ledger_entry validate constraint ledger_entry_kind_check;

-- Then the change itself, which waits for its lock for two seconds at most. If that fails, run the rest of this file again.
begin;
set local lock_timeout = '2s';
lock table ledger_entry in access exclusive mode;
alter table ledger_entry rename to ledger_entry_1;
alter index ledger_entry_pkey rename to ledger_entry_1_pkey;
alter index ledger_entry_created_idx rename to ledger_entry_1_created_idx;
alter index ledger_entry_key_idx rename to ledger_entry_1_key_idx;
alter index ledger_entry_project_idx rename to ledger_entry_1_project_idx;
drop trigger ledger_entry_append_only on ledger_entry_1;

create table ledger_entry (like ledger_entry_1 including defaults including constraints including comments) partition by range (id);
alter table ledger_entry drop constraint ledger_entry_first_ids;
alter table ledger_entry add constraint ledger_entry_pkey primary key (id);
create index ledger_entry_created_idx on ledger_entry using brin (created_at) with (pages_per_range = 32, autosummarize = on);
create index ledger_entry_key_idx on ledger_entry (key_id, created_at, id) where key_id is not null;
create index ledger_entry_project_idx on ledger_entry (project_id, created_at, id);
create trigger ledger_entry_append_only before update or delete on ledger_entry for each row execute function refuse_change();
create trigger ledger_entry_never_emptied before truncate on ledger_entry for each statement execute function refuse_change();

-- A unique index of a partition knows nothing of the other partitions. What ends or is booked once is claimed here, by the same statement.
create table ledger_reference (reference text collate "C" primary key);
create trigger ledger_reference_append_only before update or delete on ledger_reference for each row execute function refuse_change();
create function claim_ledger_reference() returns trigger language plpgsql security definer set search_path = public as $$
declare
  claim text := case
    when new.kind in ('settle', 'refund') then 'end ' || new.request_id
    when new.kind = 'adjust' then 'adjust ' || new.request_id || ' ' || new.reason
    when new.kind = 'topup' then 'topup ' || new.project_id || ' ' || new.reference end;
begin
  if claim is null then return new; end if;
  -- The first partition has the entries from before the claims.
  if (case
    when new.kind in ('settle', 'refund') then
      exists (select from ledger_entry_1 where request_id = new.request_id and kind in ('settle', 'refund'))
    when new.kind = 'adjust' then
      exists (select from ledger_entry_1 where request_id = new.request_id and reason = new.reason and kind = 'adjust')
    else exists (select from ledger_entry_1 where project_id = new.project_id and reference = new.reference and kind = 'topup') end)
  then raise unique_violation using message = format('The ledger has an entry for "%s" already.', claim); end if;
  insert into ledger_reference values (claim);
  return new;
end $$;
create trigger ledger_entry_claims before insert on ledger_entry for each row execute function claim_ledger_reference();

do $$
declare
  entries bigint := coalesce(nullif(current_setting('tollgate.partition_entries', true), ''), '100000000');
  first_end bigint := (select substring(pg_get_constraintdef(oid) from '\d+') from pg_constraint where conname = 'ledger_entry_first_ids');
  next_id bigint := nextval(pg_get_serial_sequence('ledger_entry_1', 'id'));
  part text;
  allowed record;
begin
  alter table ledger_entry_1 alter id drop identity;
  execute format('alter table ledger_entry alter id add generated always as identity (start with %s)', next_id);
  execute format('alter table ledger_entry attach partition ledger_entry_1 for values from (minvalue) to (%s)', first_end);
  -- Two dozen, and one for what comes after them.
  for n in 2..26 loop
    part := case n when 26 then 'ledger_entry_rest' else 'ledger_entry_' || n end;
    execute format('create table %I partition of ledger_entry %s with (autovacuum_vacuum_insert_scale_factor = 0,
      autovacuum_vacuum_insert_threshold = 1000000, autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 1000000)', part,
      case n when 26 then 'default' else format('for values from (%s) to (%s)', first_end + (n - 2) * entries, first_end + (n - 1) * entries) end);
    execute format('create unique index on %I (request_id) where kind in (''settle'', ''refund'')', part);
    execute format('create unique index on %I (request_id, reason) where kind = ''adjust''', part);
    execute format('create unique index on %I (project_id, reference) where kind = ''topup''', part);
    execute format('create trigger ledger_entry_never_emptied before truncate on %I for each statement execute function refuse_change()', part);
  end loop;
  execute 'create or replace view reservation as ' || replace(pg_get_viewdef('reservation'), 'ledger_entry_1', 'ledger_entry');
  -- What the roles might do with the table, they may do with this one.
  for allowed in
    select a.privilege_type as privilege, case a.grantee when 0 then 'public' else quote_ident(pg_get_userbyid(a.grantee)) end as role
    from pg_class c, aclexplode(c.relacl) a where c.oid = 'ledger_entry_1'::regclass and a.grantee <> c.relowner
  loop
    execute format('grant %s on ledger_entry to %s', allowed.privilege, allowed.role);
  end loop;
end $$;
commit;
