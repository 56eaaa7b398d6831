-- Deletes ended tasks with their deliveries and attempts, but no attempt of a month that is not frozen yet.
create or replace function purge_tasks(p_seconds float8, p_limit int) returns int
language plpgsql
as $$
declare
  due text[];
  purged int;
begin
  select array_agg(id) into due from (
    select t.id from task t
    where t.completed_at < clock_timestamp() - make_interval(secs => p_seconds) and t.admission <> 'rejected'
      and not exists (select from delivery d where d.task_id = t.id and d.state = 'pending')
      and not exists (select from attempt a where a.request_id = t.id and not is_summarised(a.started_at))
    order by t.completed_at limit p_limit for update skip locked) over;
  if due is null then return 0; end if;
  delete from delivery_attempt where delivery_id in (select id from delivery where task_id = any (due));
  delete from delivery where task_id = any (due);
  delete from attempt where request_id = any (due);
  perform forget_metadata(due);
  delete from task where id = any (due);
  get diagnostics purged = row_count;
  perform notify_tasks(due);
  return purged;
end $$;
