-- A time, or the time within p_day (UTC) that is nearest to it. PostgreSQL inlines it, because no part depends on the time zone of the session.
create or replace function within_day(p_day date, p_at timestamptz) returns timestamptz
language sql immutable
as $$
  select greatest(p_day::timestamp at time zone 'UTC',
                  least(p_at, ((p_day + 1)::timestamp - interval '1 microsecond') at time zone 'UTC'))
$$;
