-- Refunds chat holds that have expired: no answer was delivered. Returns how many.
create or replace function expire_chats(p_limit int) returns int
language plpgsql
as $$
declare
  members jsonb;
begin
  select jsonb_agg(jsonb_build_object('ord', n, 'request_id', id, 'attempt_id', attempt_id, 'outcome', 'unknown',
                                      'error_class', 'deadline', 'detail', 'the process that made this call is gone'))
  into members
  from (select row_number() over () as n, r.id,
               (select a.id from attempt a where a.request_id = r.id and a.outcome is null order by a.n desc limit 1) as attempt_id
        from reservation r where r.ended_at is null and r.kind = 'chat' and r.expires_at < clock_timestamp()
        order by r.expires_at limit p_limit) due;
  if members is null then return 0; end if;
  return (select count(*) filter (where ended) from end_chats(members));
end $$;
