-- Locks the accounts of tasks and then the tasks. Returns the latest day on which one of their keys was used. No hold began later. The
-- caller sets how statements are planned.
create or replace function lock_tasks(p_ids text[])
returns date
language plpgsql
as $$
begin
  perform lock_accounts(array(select t.project_id from task t where t.id = any (p_ids)));
  perform from task t where t.id = any (p_ids) order by t.id for no key update;
  return (select max(k.used_on) from api_key k where k.id = any (array(select t.key_id from task t where t.id = any (p_ids))));
end $$;
