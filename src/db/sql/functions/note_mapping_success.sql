-- Notes that a call for a model succeeded at a channel, whatever the provider's model list says. The mapping is drawn again.
create or replace function note_mapping_success(p_channel_id text, p_model_id text) returns void
language plpgsql
as $$
begin
  insert into channel_mapping_state as s (channel_id, model_id, succeeded_at)
  select c.id, p_model_id, clock_timestamp() from channel c where c.id = p_channel_id
  on conflict (channel_id, model_id) do update
    set succeeded_at = excluded.succeeded_at, state = null, since = null, reason = null;
  if exists (select from channel_health h where h.channel_id = p_channel_id and h.model_id = p_model_id and h.alarm = 'unlisted') then
    update channel_health h set alarm = null, alarm_at = null, updated_at = clock_timestamp()
    where h.channel_id = p_channel_id and h.model_id = p_model_id and h.alarm = 'unlisted';
  end if;
end $$;
