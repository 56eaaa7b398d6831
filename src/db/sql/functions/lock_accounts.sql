-- Locks accounts with everything of them that credits depend on: their balances and holds, and the counters and limits of their keys. The
-- caller reads these in a later statement, because a statement sees the rows as they were when it began. Every function that moves credits
-- or changes the limits of a key takes its locks in the same order: accounts, task, attempt, channel, channel health.
-- These are locks of their own, because PostgreSQL logs every lock of a row.
create or replace function lock_accounts(projects text[]) returns void
language sql
as $$
  -- Two accounts may share a number. Sorted by it, so that no two callers wait for each other.
  select pg_advisory_xact_lock(7106, number) from (select distinct hashtext(project_id) as number from unnest(projects) project_id order by 1) sorted;
$$;
