-- What was imported from other gateways.

-- Remarks and names that a project had there.
alter table project add column metadata jsonb not null default '{}';

-- The projects, keys and channels that an import made, and the state of their originals then: another import changes what changed there.
create table import_item (
  -- The name of the import, such as one-api, and the id there.
  source text not null,
  kind text not null check (kind in ('project', 'key', 'channel')),
  external_id text not null,
  internal_id text not null,
  -- The credits of a project, or the budget of a key. Null: no budget.
  credits bigint,
  settings jsonb not null,
  -- Counts the changes of credits: each has a reference of its own.
  revision int not null default 1,
  imported_at timestamptz not null default clock_timestamp(),
  primary key (source, kind, external_id)
);

-- A digest that is written anew at the first use of an imported key changes nothing that a cache holds.
drop trigger api_key_secret_changed on api_key_secret;
create trigger api_key_secret_changed after insert or delete or update of key_id, expires_at on api_key_secret
  for each statement execute function notify_change();
