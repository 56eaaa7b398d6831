-- Refunds chat holds that have expired: no answer was delivered. Returns how many. It reads all holds, which are as many as requests run.
create or replace function expire_chats(p_limit int) returns int
language plpgsql
as $$
declare
  due record;
  no_tokens bigint[];
begin
  select array_agg(id) as ids, array_agg(coalesce(open_attempt_id, first_attempt_id(id))) as attempt_ids, count(*)::int as n into due
  from (select h.id,
               (select a.id from attempt a where a.request_id = h.id and a.outcome is null order by a.n desc limit 1) as open_attempt_id
        from hold h where h.kind = 'chat' and h.expires_at < clock_timestamp() order by h.expires_at limit p_limit) expired;
  if due.n = 0 then return 0; end if;
  no_tokens := array_fill(null::bigint, array[due.n]);
  return (
    select count(*) filter (where ended) from finish_chats(
      due.ids, array_fill(null::bigint, array[due.n]), array_fill(null::text, array[due.n]), array_fill(null::bigint, array[due.n]),
      array_fill(null::bigint, array[due.n]), array_fill(null::boolean, array[due.n]), array_fill(null::int, array[due.n]),
      array_fill(null::bigint, array[due.n]),
      due.attempt_ids, array_fill('unknown'::text, array[due.n]), array_fill('deadline'::text, array[due.n]),
      array_fill(null::int, array[due.n]), array_fill('the process that made this call is gone'::text, array[due.n]),
      array_fill(null::int, array[due.n]), array_fill(null::text, array[due.n]), array_fill('hold_expired'::text, array[due.n]),
      no_tokens, no_tokens, no_tokens, no_tokens));
end $$;
