-- Erases the content of expired tasks: input, output, provider results, and the bodies and URLs of callbacks. A task whose
-- callback is still pending waits until the delivery has ended.
create or replace function erase_contents(p_limit int) returns table (tasks int, bodies int)
language plpgsql
as $$
#variable_conflict use_column
declare
  due text[];
begin
  select array_agg(id) into due from (
    select t.id from task t
    where t.completed_at is not null and (t.input is not null or t.output is not null) and t.expires_at <= clock_timestamp()
      and not exists (select from delivery d where d.task_id = t.id and d.state = 'pending')
    order by t.expires_at limit p_limit for no key update skip locked) expired;
  update delivery set body = null where task_id = any (due) and body is not null;
  get diagnostics bodies = row_count;
  update delivery set url = null where task_id = any (due) and url is not null;
  update attempt set result = null, outputs = null where request_id = any (due) and (result is not null or outputs is not null);
  update task set input = null, output = null, callback_url = null where id = any (due);
  get diagnostics tasks = row_count;
  perform notify_tasks(due);
  return next;
end $$;
