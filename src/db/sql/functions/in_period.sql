-- What a key's counter has for the period that begins on p_first_day: nothing if the counter stood for an earlier period.
create or replace function in_period(p_credits bigint, p_used_on date, p_first_day date) returns bigint
language sql immutable parallel safe
as $$
  select case when p_used_on >= p_first_day then p_credits else 0 end
$$;
