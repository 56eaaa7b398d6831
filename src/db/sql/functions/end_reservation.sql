-- Ends one held reservation: settles p_settled credits (never more than are held), or refunds all if p_settled is null.
-- Returns true if this call ended the reservation, false if it had ended before. The caller holds the locks of lock_money.
create or replace function end_reservation(p_id text, p_settled bigint, p_channel_id text) returns boolean
language plpgsql
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  held reservation;
  back bigint;
begin
  update reservation r
  set state = case when p_settled is null then 'refunded' else 'settled' end,
      settled_amount = case when p_settled is not null then least(p_settled, r.amount) end, channel_id = p_channel_id, ended_at = clock_timestamp()
  where r.id = p_id and r.state = 'held'
  returning * into held;
  if not found then return false; end if;
  back := held.amount - coalesce(held.settled_amount, 0);
  update credit_account a
  set balance = a.balance + back, reserved = a.reserved - held.amount,
      in_flight = a.in_flight - (held.kind = 'media')::int
  where a.project_id = held.project_id;
  update api_key k
  set reserved = k.reserved - held.amount, spent = k.spent + coalesce(held.settled_amount, 0),
      in_flight = k.in_flight - (held.kind = 'media')::int
  where k.id = held.key_id;
  insert into ledger_entry (project_id, key_id, reservation_id, kind, d_balance, d_reserved)
  values (held.project_id, held.key_id, held.id, case when p_settled is null then 'refund' else 'settle' end, back, -held.amount);
  return true;
end $$;
