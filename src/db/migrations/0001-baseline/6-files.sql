-- Files: outputs, inputs and uploads.

create table file (
  id text primary key,
  project_id text not null references project (id),
  task_id text,
  purpose text not null check (purpose in ('output', 'input', 'upload')),
  -- The SHA-256 of the URL that an input was copied from. The URL itself is in the task's input and is erased with it.
  source text,
  storage_key text not null unique,
  mime_type text not null,
  bytes bigint not null,
  sha256 text not null,
  width int,
  height int,
  duration double precision,
  created_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null,
  deleted_at timestamptz
);
create unique index file_source_idx on file (task_id, source) where source is not null;
create index file_expires_idx on file (expires_at) where deleted_at is null;
-- The bytes that a project stores.
create index file_project_idx on file (project_id) include (bytes) where deleted_at is null;
create index file_deleted_idx on file (id) where deleted_at is not null;
