-- Adds credits once per reference. Verdicts: added, already_added (same reference, same amount), reference_reused (same
-- reference, other amount), too_many (clients read counts exactly only up to 2^53 - 1), project_not_found.
create or replace function add_credits(p_project_id text, p_amount bigint, p_reference text)
returns table (verdict text, balance bigint, reserved bigint)
language plpgsql
as $$
#variable_conflict use_column
declare
  before ledger_entry;
begin
  perform lock_accounts(array[p_project_id]);
  perform from credit_account a where a.project_id = p_project_id;
  if not found then
    verdict := 'project_not_found';
    return next;
    return;
  end if;
  if p_amount <= 0 or p_amount > 9007199254740991
     or exists (select from credit_account a where a.project_id = p_project_id and a.balance + a.reserved > 9007199254740991 - p_amount) then
    verdict := 'too_many';
    return next;
    return;
  end if;
  select * into before from ledger_entry e
  where e.project_id = p_project_id and e.kind = 'topup' and e.reference = p_reference;
  if found then
    verdict := case when before.credits = p_amount then 'already_added' else 'reference_reused' end;
  else
    with account as (
      update credit_account a set balance = a.balance + p_amount where a.project_id = p_project_id
      returning a.balance + a.reserved as total
    )
    insert into ledger_entry (project_id, kind, credits, balance_after, reference)
    select p_project_id, 'topup', p_amount, account.total, p_reference from account;
    verdict := 'added';
  end if;
  select a.balance, a.reserved into balance, reserved from credit_account a where a.project_id = p_project_id;
  return next;
end $$;
