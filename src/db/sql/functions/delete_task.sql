-- Erases an ended task for its client: content, metadata, callback and files. The row stays without them, because the ledger refers to it, and
-- no client finds it any more. A callback that is still pending is not sent.
-- Verdicts: deleted, unknown (also for a task that was deleted before), not_ended. `files` are those whose bytes the caller deletes next. A file that
-- a running task of the project uses as an input stays until that task's deadline.
create or replace function delete_task(p_task_id text) returns table (verdict text, files jsonb)
language plpgsql
as $$
declare
  t task;
begin
  select * into t from task where id = p_task_id for no key update;
  files := '[]';
  verdict := case
    when not found or t.deleted_at is not null then 'unknown'
    when t.completed_at is null then 'not_ended'
    else 'deleted'
  end;
  if verdict = 'deleted' then
    perform forget_metadata(array[p_task_id]);
    update delivery set state = 'exhausted', ended_at = clock_timestamp(), next_attempt_at = null, lease_token = null, lease_until = null
    where task_id = p_task_id and state = 'pending';
    update delivery set body = null, url = null where task_id = p_task_id;
    update attempt set result = null, outputs = null where request_id = p_task_id;
    update task set input = null, output = null, callback_url = null, metadata = null, deleted_at = clock_timestamp() where id = p_task_id;
    with used as materialized (
      select f.id, max(r.deadline_at) as until from file f join task r on strpos(r.input::text, f.id) > 0
      where f.task_id = p_task_id and f.deleted_at is null
        and r.project_id = t.project_id and r.completed_at is null and r.admission = 'reserved'
      group by f.id
    ), kept as (
      update file f set expires_at = least(f.expires_at, u.until + interval '10 minutes') from used u where f.id = u.id
    ), gone as (
      update file f set deleted_at = clock_timestamp()
      where f.task_id = p_task_id and f.deleted_at is null and not exists (select from used u where u.id = f.id)
      returning f.id, f.storage_key
    )
    select coalesce(jsonb_agg(jsonb_build_object('id', g.id, 'storageKey', g.storage_key)), '[]') into files from gone g;
    perform notify_tasks(array[p_task_id]);
  end if;
  return next;
end $$;
