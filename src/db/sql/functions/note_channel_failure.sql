-- Counts a failed call that began p_age_seconds ago. Trips the channel after p_failures_max failures in a row, after a failed
-- probe, or if p_trip is true. Returns true if this call tripped it. A call that began before the last trip changes nothing.
create or replace function note_channel_failure(
  p_channel_id text, p_model_id text, p_reason text, p_age_seconds float8, p_trip boolean, p_failures_max int,
  p_step_seconds float8, p_max_seconds float8)
returns boolean
language plpgsql
as $$
declare
  h channel_health;
begin
  insert into channel_health (channel_id, model_id, failures, reason)
  select c.id, p_model_id, 1, p_reason from channel c where c.id = p_channel_id
  on conflict (channel_id, model_id) do update
    set failures = channel_health.failures + 1, reason = excluded.reason, updated_at = clock_timestamp()
    where channel_health.tripped_at is null
       or channel_health.tripped_at < clock_timestamp() - make_interval(secs => p_age_seconds)
  returning * into h;
  if not found or h.unavailable_until > clock_timestamp() then return false; end if;
  if not (p_trip or h.failures >= p_failures_max or h.trips > 0) then return false; end if;
  update channel_health set trips = h.trips + 1, failures = 0, tripped_at = clock_timestamp(), probe_until = null,
    unavailable_until = clock_timestamp() + make_interval(secs => least(p_max_seconds, p_step_seconds * (h.trips + 1)))
  where channel_id = p_channel_id and model_id = p_model_id;
  -- What was said against the channel before the trip must not count after it.
  update channel_witness set failed_at = null
  where channel_id = p_channel_id and model_id = p_model_id and failed_at is not null;
  return true;
end $$;
