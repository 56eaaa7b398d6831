-- The id of the first call of a chat, from the id of its request.
create or replace function first_attempt_id(request_id text) returns text
language sql immutable
as $$
  select 'att_' || substr(request_id, 5);
$$;
