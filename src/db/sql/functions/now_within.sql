-- The present time, or the time within p_day (UTC) that is nearest to it. Only functions of release 0.2.0 call it.
create or replace function now_within(p_day date) returns timestamptz
language sql volatile
as $$
  select greatest(p_day::timestamp at time zone 'UTC',
                  least(clock_timestamp(), (p_day + 1)::timestamp at time zone 'UTC' - interval '1 microsecond'))
$$;
