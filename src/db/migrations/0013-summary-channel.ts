import { Migration } from '@mikro-orm/migrations';

/** An open month's cost reaches as far as its revenue; an attempt begins only for the adapter that its channel has. */
export class Migration0013SummaryChannel extends Migration {
  override name = '0013-summary-channel';

  override up(): void {
    for (const sql of [rebuildSummary, beginAttempt, beginAttemptBefore]) this.addSql(sql);
  }
}

/**
 * As before (0007), but the cost of a request waits for the entry that ended it: while entries younger than the lag wait for the
 * next time, the newest requests of an open month were cost without revenue. A month that is frozen holds all of its cost.
 */
const rebuildSummary = `
create or replace function rebuild_summary(p_month text, p_credit_value bigint, p_lag_seconds float8, p_freeze_days int)
returns text language plpgsql as $$
declare
  first timestamptz := (p_month || '-01')::timestamp at time zone 'UTC';
  past timestamptz := ((p_month || '-01')::timestamp + interval '1 month') at time zone 'UTC';
  until timestamptz;
  through bigint;
  over boolean;
begin
  perform pg_advisory_xact_lock(7107, hashtext('monthly_summary'));
  if exists (select from summary_month where month = p_month and frozen_at is not null) then return 'frozen_before'; end if;
  over := clock_timestamp() >= past + make_interval(days => p_freeze_days);
  until := clock_timestamp() - make_interval(secs => p_lag_seconds);
  select coalesce(max(id), 0) into through from ledger_entry where created_at <= until;

  delete from monthly_summary where month = p_month;
  insert into summary_month (month, through_entry_id, credit_value_micro_usd, built_at, frozen_at)
  values (p_month, through, p_credit_value, clock_timestamp(), case when over then clock_timestamp() end)
  on conflict (month) do update set through_entry_id = excluded.through_entry_id, built_at = excluded.built_at,
    credit_value_micro_usd = excluded.credit_value_micro_usd, frozen_at = excluded.frozen_at;

  insert into monthly_summary (month, project_id, model_id, channel_id, requests, successes, failures, credits_charged,
                               cost_micro_usd, margin_micro_usd, input_tokens, output_tokens)
  select p_month, project_id, model_id, channel_id, sum(successes + failures), sum(successes), sum(failures), sum(credits), sum(cost),
         sum(credits) * p_credit_value - sum(cost), sum(input_tokens), sum(output_tokens)
  from (
    select e.project_id, coalesce(r.model_id, '') as model_id,
      coalesce(r.channel_id,
               case when e.kind = 'refund' then (select a.channel_id from attempt a where a.request_id = r.id order by a.n desc limit 1) end,
               '') as channel_id,
      (e.kind = 'settle')::int as successes, (e.kind = 'refund')::int as failures,
      case when e.kind = 'refund' then 0 else -(e.d_balance + e.d_reserved) end as credits, 0::bigint as cost,
      case when e.kind = 'settle' then coalesce(r.input_tokens, 0) else 0 end as input_tokens,
      case when e.kind = 'settle' then coalesce(r.output_tokens, 0) else 0 end as output_tokens
    from ledger_entry e left join reservation r on r.id = e.reservation_id
    where e.created_at >= first and e.created_at < past and e.id <= through and e.kind in ('settle', 'refund', 'adjust')
    union all
    select r.project_id, r.model_id, a.channel_id, 0, 0, 0, a.cost_micro_usd, 0, 0
    from attempt a join reservation r on r.id = a.request_id
    where a.started_at >= first and a.started_at < past and a.cost_micro_usd <> 0 and (over or r.ended_at <= until)
      -- Nothing was bought by what was refused, and by what ended before the provider had taken it.
      and (a.outcome in ('ok', 'unknown') or (a.operation is not null and (a.outcome is null or a.outcome = 'canceled')))
  ) facts
  group by 2, 3, 4;
  return case when over then 'frozen' else 'rebuilt' end;
end $$;
`;

/**
 * As before (0008), for one adapter: another one could not read the reference that this attempt will have. Who changes a channel
 * holds its row `for update`; `for key share` waits for that and is waited for, and for nobody else: neither for other attempts
 * nor for who switches the channel off. Lock order: account, key, reservation, task, attempt, channel, its health.
 */
const beginAttempt = `
create function begin_attempt(
  p_id text, p_task_id text, p_channel_id text, p_fence text, p_submit_seconds float8, p_cost bigint, p_probe_seconds float8, p_adapter text)
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
    select * into c from channel where channel.id = p_channel_id and enabled for key share;
    if not found or c.adapter <> p_adapter then return; end if;
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

/** What the last release calls, which does not say its adapter. */
const beginAttemptBefore = `
create or replace function begin_attempt(
  p_id text, p_task_id text, p_channel_id text, p_fence text, p_submit_seconds float8, p_cost bigint, p_probe_seconds float8)
returns table (id text, fresh boolean, outcome text, code text, operation jsonb, result jsonb, submit_deadline_ms float8)
language sql as $$
  select * from begin_attempt(p_id, p_task_id, p_channel_id, p_fence, p_submit_seconds, p_cost, p_probe_seconds, null)
$$;
`;
