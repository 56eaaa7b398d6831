-- Ends one attempt of each chat and writes the next one before its upstream call. begun is false if the hold has ended: no
-- further call may be made.
create or replace function next_chat_attempts(members jsonb) returns table (ord int, begun boolean)
language plpgsql
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
begin
  update attempt a set outcome = x.outcome, error_class = x.error_class, status = x.status, detail = x.detail, ended_at = clock_timestamp()
  from jsonb_to_recordset(members) as x (ended_id text, outcome text, error_class text, status int, detail text)
  where a.id = x.ended_id and a.outcome is null;
  return query
    with fresh as (
      insert into attempt (id, request_id, n, channel_id, channel_name, fence, submit_deadline, model_id)
      select x.attempt_id, x.request_id, x.n, x.channel_id, x.channel_name, x.attempt_id, r.expires_at, r.model_id
      from jsonb_to_recordset(members) as x (attempt_id text, request_id text, n int, channel_id text, channel_name text)
      join reservation r on r.id = x.request_id and r.state = 'held'
      on conflict do nothing
      returning id
    )
    select x.ord, exists (select from fresh f where f.id = x.attempt_id) or exists (select from attempt a where a.id = x.attempt_id)
    from jsonb_to_recordset(members) as x (ord int, attempt_id text) order by x.ord;
end $$;
