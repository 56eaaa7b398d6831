-- Notes a successful call that began p_age_seconds ago: the channel recovers, unless it was tripped or an alarm was raised
-- since the call began. A cool-down that the provider asked for stays. One because the model was unknown ends, since it is known again.
create or replace function note_channel_success(p_channel_id text, p_model_id text, p_age_seconds float8) returns boolean
language plpgsql
as $$
begin
  update channel_health set failures = 0, trips = 0, tripped_at = null, probe_until = null, probe_project_id = null, alarm = null, alarm_at = null,
    unavailable_until = case when trips > 0 or reason = 'unknown_model' then null else unavailable_until end,
    reason = case when trips > 0 or reason = 'unknown_model' then null else reason end, updated_at = clock_timestamp()
  where channel_id = p_channel_id and model_id in (p_model_id, '*') and (failures > 0 or trips > 0 or alarm is not null)
    and (tripped_at is null or tripped_at < clock_timestamp() - make_interval(secs => p_age_seconds))
    and (alarm_at is null or alarm_at < clock_timestamp() - make_interval(secs => p_age_seconds));
  return found;
end $$;
