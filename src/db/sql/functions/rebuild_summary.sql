-- Rebuilds the summary of one UTC day from the ledger and the attempts, and adds up the days of its month. A frozen day stays as
-- it is, so a night reads the last few days, however much happened before.
-- Results: rebuilt, frozen (this call froze the month's last open day), frozen_before (the day was frozen).
--
-- A request counts on the day of the ledger entry that ended it: on the channel that won it, or on the last channel tried if
-- it failed. Revenue is what settle and adjust entries took, each on its own day. Cost is the cost of each attempt, on its
-- own channel, on the day the attempt began, because the provider bills on accept. Unknown costs are counted apart.
-- Entries younger than the lag wait for the next rebuild, because entries with lower ids may not be committed yet. The cost of
-- a request waits for the entry that ended it; otherwise the newest requests would show cost without revenue. A frozen day
-- holds all of its cost.
create or replace function rebuild_summary(p_day date, p_credit_value bigint, p_lag_seconds float8, p_freeze_days int)
returns text
language plpgsql
as $$
declare
  first timestamptz := p_day::timestamp at time zone 'UTC';
  past timestamptz := (p_day + 1)::timestamp at time zone 'UTC';
  this_month text := to_char(p_day, 'YYYY-MM');
  month_first date := date_trunc('month', p_day)::date;
  month_past date := (date_trunc('month', p_day) + interval '1 month')::date;
  until timestamptz;
  through bigint;
  over boolean;
  month_over boolean;
begin
  perform pg_advisory_xact_lock(7107, hashtext('monthly_summary'));
  if exists (select from summary_day where day = p_day and frozen_at is not null) then return 'frozen_before'; end if;
  over := clock_timestamp() >= past + make_interval(days => p_freeze_days);
  until := clock_timestamp() - make_interval(secs => p_lag_seconds);
  select coalesce(max(id), 0) into through from ledger_entry where created_at <= until;

  delete from daily_summary where day = p_day;
  insert into summary_day (day, through_entry_id, built_at, frozen_at)
  values (p_day, through, clock_timestamp(), case when over then clock_timestamp() end)
  on conflict (day) do update set through_entry_id = excluded.through_entry_id, built_at = excluded.built_at,
    frozen_at = excluded.frozen_at;

  insert into daily_summary (day, project_id, key_id, model_id, channel_id, successes, failures, refusals, left_charged, left_refunded,
                             credits_charged, cost_micro_usd, unknown_costs, input_tokens, output_tokens,
                             cached_input_tokens, cache_write_tokens, cache_write_1h_tokens, reasoning_tokens)
  select p_day, project_id, key_id, model_id, channel_id, sum(successes), sum(failures), sum(refusals), sum(left_charged), sum(left_refunded),
         sum(credits), sum(cost), sum(unknown_costs), sum(input_tokens), sum(output_tokens),
         sum(cached_input_tokens), sum(cache_write_tokens), sum(cache_write_1h_tokens), sum(reasoning_tokens)
  from (
    select e.project_id, coalesce(e.key_id, '') as key_id, coalesce(e.model_id, '') as model_id,
      coalesce(e.channel_id,
               case when e.kind = 'refund' then (select a.channel_id from attempt a where a.request_id = e.request_id order by a.n desc limit 1) end,
               '') as channel_id,
      (e.kind = 'settle')::int as successes, (e.kind = 'refund')::int as failures, (e.kind = 'refund' and is_refusal(e.reason))::int as refusals,
      (e.kind = 'settle' and has_left(e.reason))::int as left_charged, (e.kind = 'refund' and has_left(e.reason))::int as left_refunded,
      -e.credits as credits, 0::bigint as cost, 0 as unknown_costs,
      case when e.kind = 'settle' then coalesce(e.input_tokens, 0) else 0 end as input_tokens,
      case when e.kind = 'settle' then coalesce(e.output_tokens, 0) else 0 end as output_tokens,
      coalesce(e.cached_input_tokens, 0) as cached_input_tokens, coalesce(e.cache_write_tokens, 0) as cache_write_tokens,
      coalesce(e.cache_write_1h_tokens, 0) as cache_write_1h_tokens, coalesce(e.reasoning_tokens, 0) as reasoning_tokens
    from ledger_entry e
    where e.created_at >= first and e.created_at < past and e.id <= through and e.kind in ('settle', 'refund', 'adjust')
    union all
    -- A chat ends within minutes, so an hour more holds every chat that began on this day.
    select e.project_id, e.key_id, e.model_id, e.channel_id, 0, 0, 0, 0, 0, 0, e.cost_micro_usd, 0, 0, 0, 0, 0, 0, 0
    from ledger_entry e
    where e.created_at >= first and e.created_at < past + interval '1 hour' and e.began_at >= first and e.began_at < past
      and e.cost_micro_usd <> 0 and (over or e.created_at <= until)
    union all
    select r.project_id, r.key_id, r.model_id, a.channel_id, 0, 0, 0, 0, 0, 0, a.bought, a.is_unknown::int, 0, 0, 0, 0, 0, 0
    from (
      select request_id, channel_id, bought_cost(outcome, operation, cost_micro_usd) as bought,
        has_unknown_cost(request_id, outcome, error_class, operation, cost_micro_usd) as is_unknown
      from attempt where started_at >= first and started_at < past) a
    cross join lateral (select * from reservation where reservation.id = a.request_id offset 0) r
    where (a.bought <> 0 or a.is_unknown) and (r.ended_at <= until or (over and (a.bought <> 0 or r.ended_at is not null)))
  ) facts
  group by 2, 3, 4, 5
  -- Rows that are read together are written together.
  order by 2, 3, 4, 5;

  select count(*) = month_past - month_first into month_over
  from summary_day where day >= month_first and day < month_past and frozen_at is not null;
  delete from monthly_summary where month = this_month;
  insert into summary_month (month, credit_value_micro_usd, built_at, frozen_at)
  values (this_month, p_credit_value, clock_timestamp(), case when month_over then clock_timestamp() end)
  on conflict (month) do update set built_at = excluded.built_at, credit_value_micro_usd = excluded.credit_value_micro_usd,
    frozen_at = excluded.frozen_at;
  insert into monthly_summary (month, project_id, model_id, channel_id, requests, successes, failures, left_charged, left_refunded,
                               credits_charged, cost_micro_usd, unknown_costs, margin_micro_usd, input_tokens, output_tokens,
                               cached_input_tokens, cache_write_tokens, cache_write_1h_tokens, reasoning_tokens)
  select this_month, project_id, model_id, channel_id, sum(successes + failures), sum(successes), sum(failures),
         sum(left_charged), sum(left_refunded), sum(credits_charged), sum(cost_micro_usd), sum(unknown_costs),
         sum(credits_charged) * p_credit_value - sum(cost_micro_usd), sum(input_tokens),
         sum(output_tokens), sum(cached_input_tokens), sum(cache_write_tokens), sum(cache_write_1h_tokens), sum(reasoning_tokens)
  from daily_summary where day >= month_first and day < month_past
  group by 2, 3, 4;
  return case when month_over then 'frozen' else 'rebuilt' end;
end $$;
