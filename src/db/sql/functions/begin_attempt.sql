-- Begins an attempt of a task on a channel, or takes over the existing one with a new fencing token. No row: no call may begin.
--
-- A channel that was too busy for the task bought nothing: from retry_at on, another attempt begins there.
--
-- While a submit of the earlier holder may still be under way (no operation yet, before submit_deadline), the fencing token
-- stays with that holder.
-- The worker that takes a parked job over polls it, so it is parked no longer.
-- p_adapter is the adapter that the caller will use: another adapter could not read the operation that this attempt will
-- have. An operator who changes a channel locks its row `for update`. `for key share` conflicts with that lock only, and thus
-- neither waits for other attempts nor for an operator who disables the channel.
-- The row names the first credential of the channel. A caller that sends another one writes it there before its submit.
create or replace function begin_attempt(
  p_id text, p_task_id text, p_channel_id text, p_fence text, p_submit_seconds float8, p_cost bigint, p_probe_seconds float8, p_adapter text)
returns table (attempt_id text, fresh boolean, outcome text, code text, operation jsonb, result jsonb, submit_deadline_ms float8)
language plpgsql
as $$
#variable_conflict use_column
declare
  t task;
  c channel;
  a attempt;
begin
  select * into t from task where task.id = p_task_id for no key update;
  if not found then return; end if;
  select * into a from attempt where attempt.request_id = p_task_id and attempt.channel_id = p_channel_id
    order by n desc limit 1 for update;
  fresh := not found or coalesce(a.outcome = 'transient' and a.retry_at <= clock_timestamp(), false);
  if fresh then
    if t.admission <> 'reserved' or t.completed_at is not null or t.cancel_requested_at is not null then return; end if;
    select * into c from channel where channel.id = p_channel_id and enabled for key share;
    if not found or c.adapter <> p_adapter then return; end if;
    if not claim_channel(p_channel_id, t.model_id, t.project_id, p_probe_seconds) then return; end if;
    insert into attempt (id, request_id, n, channel_id, channel_name, fence, submit_deadline, cost_micro_usd, model_id, credential_id)
    values (p_id, p_task_id, t.attempts + 1, p_channel_id, c.name, p_fence,
            clock_timestamp() + make_interval(secs => p_submit_seconds), p_cost, t.model_id, c.credential_id)
    returning * into a;
    update task set status = 'processing', started_at = coalesce(task.started_at, clock_timestamp()),
      attempts = task.attempts + 1, last_seen_at = clock_timestamp()
    where task.id = p_task_id;
  elsif a.outcome is null and (a.operation is not null or a.submit_deadline <= clock_timestamp()) then
    update attempt set fence = p_fence, next_poll_at = null where attempt.id = a.id;
    update task set last_seen_at = clock_timestamp() where task.id = p_task_id;
  end if;
  attempt_id := a.id;
  outcome := a.outcome;
  code := a.code;
  operation := a.operation;
  result := a.result;
  submit_deadline_ms := extract(epoch from a.submit_deadline - clock_timestamp()) * 1000;
  return next;
end $$;
