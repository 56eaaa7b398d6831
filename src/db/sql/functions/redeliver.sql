-- Starts the callback of a task again under a new event id. A delivery that is still pending ends as replaced.
-- Results: started, no_callback, not_ended (the task still runs), erased (the task's content is gone), too_soon (the task was
-- redelivered less than p_cooldown_seconds ago), too_many (p_project_max redeliveries of the project still run).
create or replace function redeliver(
  p_task_id text, p_delivery_id text, p_event_id text, p_cooldown_seconds float8, p_project_max int)
returns text
language plpgsql
as $$
declare
  t task;
begin
  select * into t from task where id = p_task_id for no key update;
  if not found then return 'no_callback'; end if;
  if t.expires_at <= clock_timestamp() then return 'erased'; end if;
  if t.callback_url is null then return 'no_callback'; end if;
  if t.completed_at is null then return 'not_ended'; end if;
  if exists (
    select from delivery where task_id = p_task_id and workflow_id is not null
      and created_at > clock_timestamp() - make_interval(secs => p_cooldown_seconds)
  ) then return 'too_soon'; end if;
  if p_project_max <= (
    select count(*) from (
      select from delivery where project_id = t.project_id and ended_at is null and workflow_id is not null limit p_project_max
    ) running
  ) then return 'too_many'; end if;
  update delivery set state = 'replaced', ended_at = clock_timestamp(), next_attempt_at = null, lease_token = null, lease_until = null
  where task_id = p_task_id and state = 'pending';
  insert into delivery (id, task_id, project_id, event_id, url, next_attempt_at, workflow_id)
  values (p_delivery_id, t.id, t.project_id, p_event_id, t.callback_url, clock_timestamp(), p_delivery_id);
  perform notify_tasks(array[p_task_id]);
  return 'started';
end $$;
