-- Ends one held reservation: settles p_settled credits (never more than are held), or refunds all if p_settled is null.
-- Returns true if this call ended the reservation, false if it had ended before. The caller holds the locks of lock_money.
create or replace function end_reservation(p_id text, p_settled bigint, p_channel_id text) returns boolean
language plpgsql
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  held hold;
  charged bigint;
begin
  delete from hold h where h.id = p_id returning * into held;
  if not found then return false; end if;
  charged := case when p_settled is null then 0 else least(p_settled, held.amount) end;
  update credit_account a
  set balance = a.balance + held.amount - charged, reserved = a.reserved - held.amount,
      in_flight = a.in_flight - (held.kind = 'media')::int
  where a.project_id = held.project_id;
  update api_key k
  set reserved = k.reserved - held.amount, spent = k.spent + charged, in_flight = k.in_flight - 1
  where k.id = held.key_id;
  insert into ledger_entry (project_id, kind, credits, key_id, request_id, model_id, channel_id, held, began_at)
  values (held.project_id, case when p_settled is null then 'refund' else 'settle' end, -charged, held.key_id, held.id, held.model_id,
          p_channel_id, held.amount, held.created_at);
  return true;
end $$;
