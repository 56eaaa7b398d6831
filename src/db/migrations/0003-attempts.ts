import { Migration } from '@mikro-orm/migrations';

/** Beginning an attempt is one round trip: the checks, the row and the task's status together. */
export class Migration0003Attempts extends Migration {
  override name = '0003-attempts';

  override up(): void {
    this.addSql(beginAttempt);
    this.addSql(restChannel);
  }
}

/**
 * Opens an attempt, or takes over the one that exists with a new fence. While a submit of the earlier holder may still be
 * on its way (no operation yet, before submit_deadline) the fence stays with that holder. No row back: nothing may begin.
 */
const beginAttempt = `
create function begin_attempt(
  p_id text, p_task_id text, p_channel_id text, p_fence text, p_submit_seconds float8, p_cost bigint)
returns table (id text, fresh boolean, outcome text, code text, operation jsonb, result jsonb, submit_deadline_ms float8)
language plpgsql as $$
#variable_conflict use_column
declare
  t task;
  c channel;
  a attempt;
begin
  select * into t from task where task.id = p_task_id for no key update;
  if not found then return; end if;
  select * into a from attempt where attempt.request_id = p_task_id and attempt.channel_id = p_channel_id for update;
  fresh := not found;
  if fresh then
    if t.admission <> 'reserved' or t.completed_at is not null or t.cancel_requested_at is not null then return; end if;
    select * into c from channel where channel.id = p_channel_id and enabled;
    if not found then return; end if;
    if exists (select from channel_health h
               where h.channel_id = p_channel_id and h.model_id in (t.model_id, '*') and h.closed_until > clock_timestamp()) then
      return;
    end if;
    insert into attempt (id, request_id, n, channel_id, channel_name, fence, submit_deadline, cost_micro_usd)
    values (p_id, p_task_id, t.attempts + 1, p_channel_id, c.name, p_fence,
            clock_timestamp() + make_interval(secs => p_submit_seconds), p_cost)
    returning * into a;
    update task set status = 'processing', started_at = coalesce(task.started_at, clock_timestamp()),
      attempts = task.attempts + 1, last_seen_at = clock_timestamp()
    where task.id = p_task_id;
  elsif a.outcome is null and (a.operation is not null or a.submit_deadline <= clock_timestamp()) then
    update attempt set fence = p_fence where attempt.id = a.id;
    update task set last_seen_at = clock_timestamp() where task.id = p_task_id;
  end if;
  id := a.id;
  outcome := a.outcome;
  code := a.code;
  operation := a.operation;
  result := a.result;
  submit_deadline_ms := extract(epoch from a.submit_deadline - clock_timestamp()) * 1000;
  return next;
end $$;
`;

/** Keeps a channel out of the draw for a while; a longer rest that stands is not shortened. */
const restChannel = `
create function rest_channel(p_channel_id text, p_model_id text, p_seconds float8, p_reason text) returns void language sql as $$
  insert into channel_health (channel_id, model_id, closed_until, reason)
  select c.id, p_model_id, clock_timestamp() + make_interval(secs => p_seconds), p_reason from channel c where c.id = p_channel_id
  on conflict (channel_id, model_id) do update
    set closed_until = greatest(channel_health.closed_until, excluded.closed_until), reason = excluded.reason,
        updated_at = clock_timestamp();
$$;
`;
