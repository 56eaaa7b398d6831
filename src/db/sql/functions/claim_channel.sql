-- Whether a call of this project may go to the channel now: true while it is available, false while it is tripped or cooling down. After
-- a trip one probe at a time may go, and its outcome decides. A probe without an outcome within p_probe_seconds makes room for the next.
-- While other projects use the channel for this model, the project of the last probe gets the next one ten seconds later than they.
create or replace function claim_channel(p_channel_id text, p_model_id text, p_project_id text, p_probe_seconds float8) returns boolean
language plpgsql
as $$
begin
  if exists (select from channel_health h where h.channel_id = p_channel_id and h.model_id in (p_model_id, '*')
             and h.unavailable_until > clock_timestamp()) then
    return false;
  end if;
  if not exists (select from channel_health h where h.channel_id = p_channel_id and h.model_id = p_model_id and h.trips > 0) then
    return true;
  end if;
  update channel_health h set probe_until = clock_timestamp() + make_interval(secs => p_probe_seconds), probe_project_id = p_project_id,
    updated_at = clock_timestamp()
  where h.channel_id = p_channel_id and h.model_id = p_model_id and h.trips > 0
    and (h.unavailable_until is null or h.unavailable_until <= clock_timestamp())
    and (h.probe_until is null or h.probe_until <= clock_timestamp())
    and (h.probe_project_id is distinct from p_project_id
      or coalesce(greatest(h.unavailable_until, h.probe_until), '-infinity') <= clock_timestamp() - interval '10 seconds'
      -- Ten minutes, because no request uses a tripped channel.
      or not exists (select from channel_witness w
                     where w.channel_id = p_channel_id and w.model_id = p_model_id and w.project_id <> p_project_id
                       and w.used_at > clock_timestamp() - interval '10 minutes'));
  return found;
end $$;
