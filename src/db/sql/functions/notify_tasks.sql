-- Tells the caches of all processes that these ended tasks are answered differently from now on. Every function that changes the
-- answer of an ended task calls it; a task that just ends is in no cache. The payload is the word `task` and the ids. PostgreSQL
-- allows 8,000 bytes, so a notification has at most 200 of them.
create or replace function notify_tasks(p_ids text[]) returns void
language plpgsql
as $$
begin
  perform pg_notify('tollgate_change', 'task ' || string_agg(id, ' '))
  from unnest(p_ids) with ordinality given (id, ord)
  group by (ord - 1) / 200;
end $$;
