-- The seconds until a channel or a credential may be called again, by its limits: 0 if it may be called now. p_running are its calls that
-- run. A second that counts leaves the window 61 seconds later, so that any 60 seconds have at most the limit. A call with more tokens
-- than the limit is let through while nothing else counts, because it would never be let through otherwise.
create or replace function channel_limit_wait(
  p_subject_id text, p_rpm int, p_tpm int, p_parallel int, p_running bigint, p_tokens bigint, p_second bigint) returns int
language sql
as $$
  with used as (
    select u.second, sum(u.requests) over w as requests, sum(u.tokens) over w as tokens, sum(u.requests) over () as all_requests,
      sum(u.tokens) over () as all_tokens
    from channel_use u where u.subject_id = p_subject_id and u.second > p_second - 61
    window w as (order by u.second)
  )
  select greatest(
    -- When a running call ends is unknown, so wait one second.
    case when p_running >= p_parallel then 1 else 0 end,
    coalesce((select min(u.second) + 61 - p_second from used u
              where u.all_requests >= p_rpm and u.requests >= u.all_requests + 1 - p_rpm), 0),
    coalesce((select min(u.second) + 61 - p_second from used u
              where u.all_tokens > 0 and u.all_tokens + p_tokens > p_tpm
                and u.tokens >= least(u.all_tokens, u.all_tokens + p_tokens - p_tpm)), 0))::int;
$$;
