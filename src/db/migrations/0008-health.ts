import { Migration } from '@mikro-orm/migrations';

/** The breaker per channel and model: failures in a row, openings, one probe at a time. Rests are rows for all models. */
export class Migration0008Health extends Migration {
  override name = '0008-health';

  override up(): void {
    for (const sql of [columns, noteFailure, noteSuccess, raiseAlarm, claimChannel, dropBeginAttempt, beginAttempt])
      this.addSql(sql);
  }
}

const columns = `
alter table channel_health add column failures int not null default 0;
-- Openings since the last success: each keeps the channel closed one step longer.
alter table channel_health add column opens int not null default 0;
alter table channel_health add column opened_at timestamptz;
alter table channel_health add column probe_until timestamptz;
-- What an operator has to look at; it stands until the next success.
alter table channel_health add column alarm text;
alter table channel_health add column alarm_at timestamptz;
`;

/**
 * One failure more of a call that began p_age_seconds ago. Opens at p_failures_max in a row, at once after a failed probe, or
 * when p_open says so. True when it opened. A call from before the opening says nothing new.
 */
const noteFailure = `
create function note_channel_failure(
  p_channel_id text, p_model_id text, p_reason text, p_age_seconds float8, p_open boolean, p_failures_max int,
  p_step_seconds float8, p_max_seconds float8)
returns boolean language plpgsql as $$
declare
  h channel_health;
begin
  insert into channel_health (channel_id, model_id, failures, reason)
  select c.id, p_model_id, 1, p_reason from channel c where c.id = p_channel_id
  on conflict (channel_id, model_id) do update
    set failures = channel_health.failures + 1, reason = excluded.reason, updated_at = clock_timestamp()
    where channel_health.opened_at is null
       or channel_health.opened_at < clock_timestamp() - make_interval(secs => p_age_seconds)
  returning * into h;
  if not found or h.closed_until > clock_timestamp() then return false; end if;
  if not (p_open or h.failures >= p_failures_max or h.opens > 0) then return false; end if;
  update channel_health set opens = h.opens + 1, failures = 0, opened_at = clock_timestamp(), probe_until = null,
    closed_until = clock_timestamp() + make_interval(secs => least(p_max_seconds, p_step_seconds * (h.opens + 1)))
  where channel_id = p_channel_id and model_id = p_model_id;
  return true;
end $$;
`;

/**
 * A success of a call that began p_age_seconds ago: the channel is whole again, unless it was opened or an alarm was raised
 * since then. A rest that the provider asked for stays.
 */
const noteSuccess = `
create function note_channel_success(p_channel_id text, p_model_id text, p_age_seconds float8) returns boolean language plpgsql as $$
begin
  update channel_health set failures = 0, opens = 0, opened_at = null, probe_until = null, alarm = null, alarm_at = null,
    closed_until = case when opens > 0 then null else closed_until end,
    reason = case when opens > 0 then null else reason end, updated_at = clock_timestamp()
  where channel_id = p_channel_id and model_id in (p_model_id, '*') and (failures > 0 or opens > 0 or alarm is not null)
    and (opened_at is null or opened_at < clock_timestamp() - make_interval(secs => p_age_seconds))
    and (alarm_at is null or alarm_at < clock_timestamp() - make_interval(secs => p_age_seconds));
  return found;
end $$;
`;

/** True when the alarm is new. */
const raiseAlarm = `
create function raise_channel_alarm(p_channel_id text, p_model_id text, p_alarm text) returns boolean language plpgsql as $$
begin
  insert into channel_health (channel_id, model_id, alarm, alarm_at)
  select c.id, p_model_id, p_alarm, clock_timestamp() from channel c where c.id = p_channel_id
  on conflict (channel_id, model_id) do update set alarm = excluded.alarm, alarm_at = excluded.alarm_at, updated_at = clock_timestamp()
    where channel_health.alarm is distinct from excluded.alarm;
  return found;
end $$;
`;

/**
 * Whether a call may go to this channel now: yes while it is whole, no while it is closed, and after an opening for one at a
 * time, whose outcome decides. Who brings none within p_probe_seconds makes room for the next.
 */
const claimChannel = `
create function claim_channel(p_channel_id text, p_model_id text, p_probe_seconds float8) returns boolean language plpgsql as $$
begin
  if exists (select from channel_health h where h.channel_id = p_channel_id and h.model_id in (p_model_id, '*')
             and h.closed_until > clock_timestamp()) then
    return false;
  end if;
  if not exists (select from channel_health h where h.channel_id = p_channel_id and h.model_id = p_model_id and h.opens > 0) then
    return true;
  end if;
  update channel_health h set probe_until = clock_timestamp() + make_interval(secs => p_probe_seconds), updated_at = clock_timestamp()
  where h.channel_id = p_channel_id and h.model_id = p_model_id and h.opens > 0
    and (h.closed_until is null or h.closed_until <= clock_timestamp())
    and (h.probe_until is null or h.probe_until <= clock_timestamp());
  return found;
end $$;
`;

/** As before, with the probe of a half-open channel claimed in the same transaction. */
const dropBeginAttempt = `drop function begin_attempt(text, text, text, text, float8, bigint)`;
const beginAttempt = `
create function begin_attempt(
  p_id text, p_task_id text, p_channel_id text, p_fence text, p_submit_seconds float8, p_cost bigint, p_probe_seconds float8)
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
    if not claim_channel(p_channel_id, t.model_id, p_probe_seconds) then return; end if;
    insert into attempt (id, request_id, n, channel_id, channel_name, fence, submit_deadline, cost_micro_usd, model_id)
    values (p_id, p_task_id, t.attempts + 1, p_channel_id, c.name, p_fence,
            clock_timestamp() + make_interval(secs => p_submit_seconds), p_cost, t.model_id)
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
