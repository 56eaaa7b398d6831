-- Prices for projects. The rules were checked before they are written (src/services/plans/read-plan-rules.ts).
create table plan (
  id text primary key,
  name text not null unique,
  rules jsonb not null,
  -- Grows with each change of the rules.
  revision bigint not null default 1,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp()
);

-- Null: the prices of the catalog.
alter table project add column plan_id text references plan (id);
create index project_plan on project (plan_id) where plan_id is not null;

-- The caches of keys have the plan of each key's project.
create trigger project_plan_changed after update of plan_id on project
  for each statement execute function notify_change();
create trigger plan_changed after update on plan
  for each statement execute function notify_change();
