-- Claims the due polls of parked jobs: of each channel at most as many as its free places, one project after the other and in
-- each project the longest due first. The next poll of a claimed job is due after a tenth of the job's age, at least
-- p_least_seconds and at most p_most_seconds. It is shortened by up to a tenth at random, so that jobs which are due together do not
-- stay together. That time is also the lease of this poll: lease_ms is what is left of it.
-- wanted is false once the task has ended. Concurrent callers claim different rows and do not wait.
-- The index gives the projects of a channel one by one, so the cost grows with the projects and the places, not with the jobs.
create or replace function claim_polls(p_channel_ids text[], p_places int[], p_least_seconds float8, p_most_seconds float8)
returns table (attempt_id text, fence text, channel_id text, task_id text, request_id text, operation jsonb, progress int,
               missing_ms float8, wanted boolean, remaining_ms float8, lease_ms float8, late_ms float8, trace_parent text)
language plpgsql
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  -- A constant, because an index cannot be searched by the changing clock_timestamp().
  at constant timestamptz := clock_timestamp();
begin
  return query
  with recursive turn as (
    select given.channel_id, given.places,
      (select min(a.project_id) from attempt a where a.channel_id = given.channel_id and a.next_poll_at is not null) as project_id
    from unnest(p_channel_ids, p_places) given (channel_id, places)
    union all
    select turn.channel_id, turn.places,
      (select min(a.project_id) from attempt a
       where a.channel_id = turn.channel_id and a.project_id > turn.project_id and a.next_poll_at is not null)
    from turn where turn.project_id is not null
  ), waiting as (
    -- With many projects a few jobs of each are enough. Twice its share, because some projects have less.
    select turn.*, ceil(2.0 * turn.places / count(*) over (partition by turn.channel_id))::int as share
    from turn where exists (
      select from attempt a
      where a.channel_id = turn.channel_id and a.project_id = turn.project_id and a.next_poll_at <= at)
  ), ranked as (
    select due.id, waiting.places,
      row_number() over (partition by waiting.channel_id order by due.nth, due.next_poll_at) as place
    from waiting cross join lateral (
      select a.id, a.next_poll_at, row_number() over (order by a.next_poll_at) as nth from attempt a
      where a.channel_id = waiting.channel_id and a.project_id = waiting.project_id and a.next_poll_at <= at
      order by a.next_poll_at limit waiting.share) due
  ), chosen as (
    select a.id, a.next_poll_at from attempt a join ranked on ranked.id = a.id
    where ranked.place <= ranked.places and a.next_poll_at <= at
    for no key update of a skip locked
  ), claimed as (
    update attempt a
    set next_poll_at = at + make_interval(secs => greatest(p_least_seconds,
      (0.9 + 0.1 * random()) * least(extract(epoch from at - a.submitted_at) / 10, p_most_seconds)))
    from chosen where a.id = chosen.id
    returning a.*, chosen.next_poll_at as due_at
  )
  select c.id, c.fence, c.channel_id, t.id, t.request_id, c.operation, t.progress,
    (extract(epoch from at - c.missing_since) * 1000)::float8, t.completed_at is null,
    (extract(epoch from t.deadline_at - at) * 1000)::float8, (extract(epoch from c.next_poll_at - at) * 1000)::float8,
    (extract(epoch from at - c.due_at) * 1000)::float8, t.trace_parent
  from claimed c join task t on t.id = c.request_id;
end $$;
