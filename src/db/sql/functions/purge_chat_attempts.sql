-- Deletes old attempts of chats. A chat has no row of its own but its reservation, which stays; an attempt without a task
-- belongs to a chat.
-- The outcome of the attempt does not matter: if the answer of next_chat_attempts is lost, its row stays without an outcome,
-- because the call that ends the chat does not know of it. The end of the hold ends all attempts of a chat.
create or replace function purge_chat_attempts(p_seconds float8, p_limit int) returns int
language plpgsql
as $$
declare
  purged int;
begin
  delete from attempt where id in (
    select a.id from attempt a
    where a.started_at < clock_timestamp() - make_interval(secs => p_seconds) and is_summarised(a.started_at)
      and not exists (select from task t where t.id = a.request_id)
      and not exists (select from hold h where h.id = a.request_id)
    limit p_limit for update skip locked);
  get diagnostics purged = row_count;
  return purged;
end $$;
