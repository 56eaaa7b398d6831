-- Raises an alarm for operators. Returns true if the alarm is new.
create or replace function raise_channel_alarm(p_channel_id text, p_model_id text, p_alarm text) returns boolean
language plpgsql
as $$
begin
  insert into channel_health (channel_id, model_id, alarm, alarm_at)
  select c.id, p_model_id, p_alarm, clock_timestamp() from channel c where c.id = p_channel_id
  on conflict (channel_id, model_id) do update set alarm = excluded.alarm, alarm_at = excluded.alarm_at, updated_at = clock_timestamp()
    where channel_health.alarm is distinct from excluded.alarm;
  return found;
end $$;
