-- Each time when the database was found to be restored from a backup. While one is not released, no worker submits, polls or calls back.
create table restore_mark (
  id bigint generated always as identity primary key,
  -- The time of the newest row that was restored.
  restored_through timestamptz not null,
  marked_at timestamptz not null default clock_timestamp(),
  -- The history of changes that the database was on, as PostgreSQL names it. A restore begins another one. Null where it cannot be read.
  history text,
  released_at timestamptz
);
create unique index restore_mark_open_idx on restore_mark ((true)) where released_at is null;
