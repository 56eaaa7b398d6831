-- Reads an admitted task for its attempt on a channel, and begins that attempt in the same transaction if nothing has to happen before it:
-- the task still runs, its request names no media inputs (p_input_keys), the adapter can make it and the channel has no attempt yet, or was
-- too busy then and may be called again now.
-- Then `started` is true, unless begin_attempt refuses. In all other cases the caller goes on with what it read. No row: no such task.
--
-- Called again with the same fencing token, it returns true again: the caller has sent nothing before it had an answer.
create or replace function start_attempt(
  p_id text, p_task_id text, p_channel_id text, p_fence text, p_image_submit_seconds float8, p_video_submit_seconds float8,
  p_probe_seconds float8, p_adapter text, p_input_keys text[])
returns table (
  task_id text, project_id text, request_id text, type text, model_id text, status text, input jsonb, snapshot jsonb, remaining_ms float8,
  cancel_requested boolean, begun jsonb, started boolean)
language plpgsql
as $$
#variable_conflict use_column
declare
  t task;
  a attempt;
  may_begin boolean;
  mapping jsonb;
begin
  select * into t from task where task.id = p_task_id and task.admission = 'reserved' for no key update;
  if not found then return; end if;
  select * into a from attempt where attempt.request_id = p_task_id and attempt.channel_id = p_channel_id order by n desc limit 1;
  may_begin := not found or coalesce(a.outcome = 'transient' and a.retry_at <= clock_timestamp(), false);
  started := a.id is not null and a.id = p_id and a.fence = p_fence and a.outcome is null and a.operation is null;
  mapping := t.snapshot -> 'upstream' -> p_adapter;
  if may_begin and mapping is not null and t.completed_at is null and t.deadline_at > clock_timestamp()
     and not coalesce(t.input ?| p_input_keys, true) then
    select b.fresh into started from begin_attempt(
      p_id, p_task_id, p_channel_id, p_fence,
      case t.type when 'image' then p_image_submit_seconds else p_video_submit_seconds end,
      (mapping ->> 'cost_micro_usd')::bigint, p_probe_seconds, p_adapter) b;
  elsif not may_begin and not started then
    begun := jsonb_build_object(
      'outcome', a.outcome, 'code', a.code, 'ageMs', extract(epoch from clock_timestamp() - a.started_at) * 1000);
  end if;
  task_id := t.id;
  project_id := t.project_id;
  request_id := t.request_id;
  type := t.type;
  model_id := t.model_id;
  status := t.status;
  input := t.input;
  snapshot := t.snapshot;
  remaining_ms := extract(epoch from t.deadline_at - clock_timestamp()) * 1000;
  cancel_requested := t.cancel_requested_at is not null;
  started := coalesce(started, false);
  return next;
end $$;
