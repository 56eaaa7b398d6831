-- Adds credits once per reference, which end at a time or last (null). Verdicts: added, already_added (same reference, same amount),
-- reference_reused (same reference, other amount), too_many (clients read counts exactly only up to 2^53 - 1), project_not_found, has_ended (the
-- time is not in the future), too_many_grants. A grant that is added below zero first pays what is owed.
create or replace function add_credits_until(p_project_id text, p_amount bigint, p_reference text, p_ends_at timestamptz)
returns table (verdict text, balance bigint, reserved bigint)
language plpgsql
as $$
#variable_conflict use_column
declare
  before ledger_entry;
  a credit_account;
  owed bigint;
  interval_n int;
begin
  perform lock_accounts(array[p_project_id]);
  perform expire_grants(p_project_id);
  select * into a from credit_account where project_id = p_project_id;
  select * into before from ledger_entry e
  where e.project_id = p_project_id and e.kind = 'topup' and e.reference = p_reference;
  verdict := case
    when a.project_id is null then 'project_not_found'
    when p_amount <= 0 or p_amount > 9007199254740991 or a.balance + a.reserved > 9007199254740991 - p_amount then 'too_many'
    when before.credits = p_amount then 'already_added'
    when before.id is not null then 'reference_reused'
    when p_ends_at <= clock_timestamp() then 'has_ended'
    when p_ends_at is not null
      and (select count(*) from credit_grant g where g.project_id = p_project_id and not g.is_closed) >= 1000 then 'too_many_grants'
    else 'added'
  end;
  if verdict = 'added' then
    -- A threshold that was crossed and that these credits are above again is told all the same.
    perform note_balance_alerts(p_project_id);
    if p_ends_at is not null then
      owed := coalesce((select sum(x.remaining) from left_of_grants(p_project_id) x), 0) - a.balance;
      interval_n := end_grant_interval(p_project_id);
      insert into credit_grant (project_id, reference, amount, ends_at, first_interval, absorbed)
      values (p_project_id, p_reference, p_amount, p_ends_at, interval_n, greatest(0, least(owed, p_amount)));
      update credit_account set grant_due_at = least(grant_due_at, p_ends_at) where project_id = p_project_id;
    end if;
    with account as (
      update credit_account a set balance = a.balance + p_amount, grant_mark = a.grant_mark + p_amount where a.project_id = p_project_id
      returning a.balance + a.reserved as total
    )
    insert into ledger_entry (project_id, kind, credits, balance_after, reference)
    select p_project_id, 'topup', p_amount, account.total, p_reference from account;
    perform note_balance_alerts(p_project_id);
  end if;
  select a.balance, a.reserved into balance, reserved from credit_account a where a.project_id = p_project_id;
  return next;
end $$;
