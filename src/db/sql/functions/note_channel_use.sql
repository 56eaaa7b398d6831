-- Notes that a project used a channel for a model. p_failed: true after a timeout or a bare 403, false after a success, null if the
-- outcome says nothing about the channel.
-- Returns whether a failure counts: the last call of another project within p_window_seconds failed too, or no other project used
-- the channel for this model within p_used_seconds.
create or replace function note_channel_use(
  p_channel_id text, p_model_id text, p_project_id text, p_failed boolean, p_window_seconds float8, p_used_seconds float8)
returns boolean
language plpgsql
as $$
declare
  others int;
  failing int;
begin
  insert into channel_witness (channel_id, model_id, project_id, failed_at)
  select c.id, p_model_id, p_project_id, case when p_failed then clock_timestamp() end from channel c where c.id = p_channel_id
  on conflict (channel_id, model_id, project_id) do update
    set used_at = excluded.used_at,
        failed_at = case when p_failed is null then channel_witness.failed_at else excluded.failed_at end;
  if p_failed is not true then return false; end if;
  select count(*), count(*) filter (where w.failed_at > clock_timestamp() - make_interval(secs => p_window_seconds))
  into others, failing
  from channel_witness w
  where w.channel_id = p_channel_id and w.model_id = p_model_id and w.project_id <> p_project_id
    and w.used_at > clock_timestamp() - make_interval(secs => p_used_seconds);
  return others = 0 or failing > 0;
end $$;
