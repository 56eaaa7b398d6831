-- Gives back what a settled chat was charged although its answer never reached the client, and frees its idempotency key in the
-- same transaction. Returns the credits given back, and 0 if it is called again. An answer that the key has replayed was delivered, so
-- its charge stays.
create or replace function return_chat(p_request_id text) returns bigint
language plpgsql
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  replayed boolean;
begin
  perform lock_accounts(array[r.project_id]) from reservation r where r.id = p_request_id;
  -- Locked, so that a replay either has marked the row by now or no longer finds it.
  select i.replayed_at is not null into replayed from idempotency i where i.request_id = p_request_id for update;
  if replayed then return 0; end if;
  delete from idempotency i where i.request_id = p_request_id;
  return (select a.given from adjust_credits(p_request_id, null, 'not_delivered') a);
end $$;
