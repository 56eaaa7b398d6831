-- Starts a cool-down of a channel. A longer cool-down that is already set is not shortened.
create or replace function rest_channel(p_channel_id text, p_model_id text, p_seconds float8, p_reason text) returns void
language sql
as $$
  insert into channel_health (channel_id, model_id, unavailable_until, reason)
  select c.id, p_model_id, clock_timestamp() + make_interval(secs => p_seconds), p_reason from channel c where c.id = p_channel_id
  on conflict (channel_id, model_id) do update
    set unavailable_until = greatest(channel_health.unavailable_until, excluded.unavailable_until), reason = excluded.reason,
        updated_at = clock_timestamp();
$$;
