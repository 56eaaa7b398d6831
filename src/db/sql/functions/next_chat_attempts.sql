-- Ends one attempt of each chat and writes the next one before its upstream call. begun is false if the hold has ended: no
-- further call may be made. The row of a chat's first attempt is written here, from its hold. is_same: the next call goes to the same channel
-- with another credential, so the ended one says by retry_at that it bought nothing there.
create or replace function next_chat_attempts(members jsonb) returns table (ord int, begun boolean)
language plpgsql
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
begin
  insert into attempt (id, request_id, n, channel_id, channel_name, fence, submit_deadline, model_id, started_at,
                       outcome, error_class, status, detail, retry_at, ended_at)
  select x.ended_id, h.id, 1, h.channel_id, h.channel_name, x.ended_id, h.expires_at, h.model_id, h.created_at,
    x.outcome, x.error_class, x.status, x.detail, case when x.is_same then clock_timestamp() end, clock_timestamp()
  from jsonb_to_recordset(members) as x (
    request_id text, ended_id text, outcome text, error_class text, status int, detail text, is_same boolean)
  -- offset 0 keeps this a look-up for each member, however large the table is when the statement is planned.
  cross join lateral (select * from hold where hold.id = x.request_id and first_attempt_id(hold.id) = x.ended_id offset 0) h
  on conflict do nothing;
  update attempt a set outcome = x.outcome, error_class = x.error_class, status = x.status, detail = x.detail,
    retry_at = case when x.is_same then clock_timestamp() end, ended_at = clock_timestamp()
  from jsonb_to_recordset(members) as x (ended_id text, outcome text, error_class text, status int, detail text, is_same boolean)
  where a.id = x.ended_id and a.outcome is null
    and a.id = any (array(select ended_id from jsonb_to_recordset(members) as y (ended_id text)));
  return query
    with given as materialized (
      select * from jsonb_to_recordset(members) as x (
        ord int, attempt_id text, request_id text, n int, channel_id text, channel_name text)
    ), fresh as (
      insert into attempt (id, request_id, n, channel_id, channel_name, fence, submit_deadline, model_id)
      select g.attempt_id, g.request_id, g.n, g.channel_id, g.channel_name, g.attempt_id, held.expires_at, held.model_id
      from given g cross join lateral (
        select h.expires_at, h.model_id from hold h where h.id = g.request_id offset 0
      ) held
      on conflict do nothing
      returning id
    )
    select g.ord, exists (select from fresh f where f.id = g.attempt_id)
      -- A scalar subquery is never turned into a hash of the whole table, as "exists" can be.
      or (select true from attempt a where a.id = g.attempt_id) is not null
    from given g order by g.ord;
end $$;
