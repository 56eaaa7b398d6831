-- Locks accounts, then keys, each sorted by id. Every function that moves credits takes its locks in the same order:
-- account, key, hold, task, attempt, channel, channel health.
create or replace function lock_money(projects text[], keys text[]) returns void
language plpgsql
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
begin
  perform from credit_account where project_id = any (projects) order by project_id for no key update;
  perform from api_key where id = any (keys) order by id for no key update;
end $$;
