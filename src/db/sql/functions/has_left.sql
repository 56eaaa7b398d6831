-- Whether a request ended because its client left it: it closed the connection, or canceled its task.
create or replace function has_left(p_reason text) returns boolean
language sql immutable
as $$
  select coalesce(p_reason in ('client_left', 'canceled'), false);
$$;
