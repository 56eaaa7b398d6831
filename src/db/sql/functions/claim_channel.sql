-- Whether a call may go to this channel now: true while it is available, false while it is tripped or cooling down. After a trip one
-- probe at a time may go, and its outcome decides. A probe without an outcome within p_probe_seconds makes room for the next.
create or replace function claim_channel(p_channel_id text, p_model_id text, p_probe_seconds float8) returns boolean
language plpgsql
as $$
begin
  if exists (select from channel_health h where h.channel_id = p_channel_id and h.model_id in (p_model_id, '*')
             and h.closed_until > clock_timestamp()) then
    return false;
  end if;
  if not exists (select from channel_health h where h.channel_id = p_channel_id and h.model_id = p_model_id and h.opens > 0) then
    return true;
  end if;
  update channel_health h set probe_until = clock_timestamp() + make_interval(secs => p_probe_seconds), updated_at = clock_timestamp()
  where h.channel_id = p_channel_id and h.model_id = p_model_id and h.opens > 0
    and (h.closed_until is null or h.closed_until <= clock_timestamp())
    and (h.probe_until is null or h.probe_until <= clock_timestamp());
  return found;
end $$;
