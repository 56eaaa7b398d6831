-- What the lists of operators are sorted and filtered by, and a word for callbacks that were replaced.

-- Since when a model is in the catalog. Of those that are there before this migration: since the migration.
alter table model add column created_at timestamptz not null default clock_timestamp();

-- The changes of all operators by time. For an order by id the planner would read the primary key, and find a rare value late.
create index if not exists audit_entry_at_idx on audit_entry (at, id);

-- A callback that is sent again while it is pending ends as replaced. Not validated, because every row has one of the earlier states.
alter table delivery drop constraint delivery_state_check;
alter table delivery add constraint delivery_state_check
  check (state in ('pending', 'delivered', 'exhausted', 'gone', 'blocked', 'replaced')) not valid;
