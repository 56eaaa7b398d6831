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
  -- Account before key, as in lock_money, but in one statement.
  select max(used_on) into latest_day from (
    select k.used_on from api_key k
    where k.id = any (array(select task.key_id from task where task.id = any (ids)))
      and (select count(*) from (
        select from credit_account a
        where a.project_id = any (array(select task.project_id from task where task.id = any (ids)))
        order by a.project_id for no key update) locked) >= 0
    order by k.id for no key update) locked;
  perform from hold where id = any (ids) order by id for no key update;
  perform from task where id = any (ids) order by id for no key update;
  return query select * from end_tasks(members, latest_day);
end $$;
