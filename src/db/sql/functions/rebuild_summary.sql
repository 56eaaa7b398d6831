-- Rebuilds the summary of one UTC month from the ledger and the attempts. A frozen month stays as it is.
-- Results: rebuilt, frozen (this call froze it), frozen_before.
--
-- A request counts in the month of the ledger entry that ended it: on the channel that won it, or on the last channel tried if
-- it failed. Revenue is what settle and adjust entries took, each in its own month. Cost is the cost of each attempt, on its
-- own channel, in the month the attempt began, because the provider bills on accept.
-- Entries younger than the lag wait for the next rebuild, because entries with lower ids may not be committed yet. The cost of
-- a request waits for the entry that ended it; otherwise the newest requests would show cost without revenue. A frozen month
-- holds all of its cost.
create or replace function rebuild_summary(p_month text, p_credit_value bigint, p_lag_seconds float8, p_freeze_days int)
returns text
language plpgsql
as $$
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
    select e.project_id, coalesce(e.model_id, '') as model_id,
      coalesce(e.channel_id,
               case when e.kind = 'refund' then (select a.channel_id from attempt a where a.request_id = e.request_id order by a.n desc limit 1) end,
               '') as channel_id,
      (e.kind = 'settle')::int as successes, (e.kind = 'refund')::int as failures, -e.credits as credits, 0::bigint as cost,
      case when e.kind = 'settle' then coalesce(e.input_tokens, 0) else 0 end as input_tokens,
      case when e.kind = 'settle' then coalesce(e.output_tokens, 0) else 0 end as output_tokens
    from ledger_entry e
    where e.created_at >= first and e.created_at < past and e.id <= through and e.kind in ('settle', 'refund', 'adjust')
    union all
    -- A chat ends within minutes, so a day more holds every chat that began in this month.
    select e.project_id, e.model_id, e.channel_id, 0, 0, 0, e.cost_micro_usd, 0, 0
    from ledger_entry e
    where e.created_at >= first and e.created_at < past + interval '1 day' and e.began_at >= first and e.began_at < past
      and e.cost_micro_usd <> 0 and (over or e.created_at <= until)
    union all
    select r.project_id, r.model_id, a.channel_id, 0, 0, 0, a.cost_micro_usd, 0, 0
    from attempt a cross join lateral (select * from reservation where reservation.id = a.request_id offset 0) r
    where a.started_at >= first and a.started_at < past and a.cost_micro_usd <> 0 and (over or r.ended_at <= until)
      -- Nothing was bought by what was refused, and by what ended before the provider had taken it.
      and (a.outcome in ('ok', 'unknown') or (a.operation is not null and (a.outcome is null or a.outcome = 'canceled')))
  ) facts
  group by 2, 3, 4;
  return case when over then 'frozen' else 'rebuilt' end;
end $$;
