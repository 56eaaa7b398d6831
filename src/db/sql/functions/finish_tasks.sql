-- Ends tasks, each once: the first call to commit decides, later calls change nothing and return the stored result. The
-- task's status, its credits and the delivery row of its callback change in one transaction.
-- A success takes its outputs from the attempt that ended with 'ok'. Without such an attempt the call fails, because nothing
-- may be charged without a result. Balances are written once per account and key.
create or replace function finish_tasks(members jsonb)
returns table (task_id text, finished boolean, status text, error_code text, delivery_id text)
language plpgsql
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  -- The latest day on which one of the keys was used. No hold began later.
  latest_day date;
  ids text[] := array(select m->>'task_id' from jsonb_array_elements(members) m);
begin
  perform lock_accounts(array(select task.project_id from task where task.id = any (ids)));
  latest_day := (select max(k.used_on) from api_key k where k.id = any (array(select task.key_id from task where task.id = any (ids))));
  perform from task where id = any (ids) order by id for no key update;
  return query select * from end_tasks(members, latest_day);
end $$;
