-- Ends a claimed try of a callback delivery and counts it. Returns false and changes nothing if the lease was taken over.
create or replace function end_delivery_try(
  p_id text, p_token text, p_state text, p_delay_seconds float8, p_status int, p_error_class text, p_claimed_at float8) returns boolean
language plpgsql
as $$
declare
  tries int;
begin
  update delivery set
    state = p_state, attempts = attempts + 1, last_status = p_status, lease_until = null, lease_token = null,
    next_attempt_at = case when p_state = 'pending' then clock_timestamp() + make_interval(secs => p_delay_seconds) end,
    ended_at = case when p_state <> 'pending' then clock_timestamp() end
  where id = p_id and lease_token = p_token and state = 'pending'
  returning attempts into tries;
  if not found then return false; end if;
  insert into delivery_attempt (delivery_id, n, started_at, ended_at, status, error_class)
  values (p_id, tries, to_timestamp(p_claimed_at), clock_timestamp(), p_status, p_error_class);
  return true;
end $$;
