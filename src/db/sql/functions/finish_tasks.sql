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
  latest_day date := lock_tasks(array(select m->>'task_id' from jsonb_array_elements(members) m));
begin
  return query select * from end_tasks(members, latest_day);
end $$;
