-- Takes credits out of an account, once per reference: those that last, then those of grants. The balance may become negative: then nothing can be
-- held until it is above zero again.
-- Verdicts: deducted, already_deducted (same reference, same amount), reference_reused (same reference, other amount), too_many (clients read
-- counts exactly only down to -(2^53 - 1)), project_not_found.
create or replace function deduct_credits(p_project_id text, p_amount bigint, p_reference text, p_reason text)
returns table (verdict text, balance bigint, reserved bigint)
language plpgsql
as $$
#variable_conflict use_column
declare
  before deduction;
begin
  perform lock_accounts(array[p_project_id]);
  perform expire_grants(p_project_id);
  select a.balance, a.reserved into balance, reserved from credit_account a where a.project_id = p_project_id;
  select * into before from deduction d where d.project_id = p_project_id and d.reference = p_reference;
  verdict := case
    when balance is null then 'project_not_found'
    when before.amount = p_amount then 'already_deducted'
    when before.amount is not null then 'reference_reused'
    when p_amount > 9007199254740991 or balance - p_amount < -9007199254740991 then 'too_many'
    else 'deducted'
  end;
  if verdict = 'deducted' then
    insert into deduction (project_id, reference, amount) values (p_project_id, p_reference, p_amount);
    perform absorb_grants(p_project_id, p_amount);
    with account as (
      update credit_account a set balance = a.balance - p_amount, grant_mark = a.grant_mark - p_amount, deducted = a.deducted + p_amount where a.project_id = p_project_id
      returning a.balance, a.balance + a.reserved as total
    ), entered as (
      insert into ledger_entry (project_id, kind, credits, balance_after, reference, reason)
      select p_project_id, 'deduct', -p_amount, account.total, p_reference, p_reason from account
    )
    select account.balance into balance from account;
  end if;
  return next;
end $$;
