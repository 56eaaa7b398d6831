-- The calls of a channel that run: those that a process renews, and those of tasks whose attempt has no outcome.
create or replace function running_channel_calls(p_channel_id text) returns setof channel_call
language sql
stable
as $$
  select k.* from channel_call k
  where k.channel_id = p_channel_id
    and case when k.expires_at is null then exists (select from attempt a where a.id = k.id and a.outcome is null)
        else k.expires_at > clock_timestamp() end;
$$;
