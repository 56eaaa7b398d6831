-- Gives back p_amount of what a request was charged, or all that is left if p_amount is null, as a ledger entry of its
-- own, which last. It was charged by its settlement, or by the charge of a result that was adopted after its refund. That entry does not change.
-- Verdicts: given, given_before (same reason, same amount), reason_reused (same reason, other amount), nothing_left, too_many,
-- not_settled, not_found.
create or replace function adjust_credits(p_request_id text, p_amount bigint, p_reason text)
returns table (verdict text, project_id text, given bigint, charged bigint, given_in_all bigint, balance bigint)
language plpgsql
as $$
#variable_conflict use_column
declare
  r reservation;
  before bigint;
  began_on date;
  charged_on text;
begin
  given := 0;
  select * into r from reservation where id = p_request_id;
  if not found then
    verdict := 'not_found';
    return next;
    return;
  end if;
  perform lock_accounts(array[r.project_id]);
  select * into r from reservation where id = p_request_id;
  project_id := r.project_id;
  select coalesce(r.settled_amount, 0) - coalesce(sum(e.credits) filter (where e.credits < 0), 0),
    coalesce(sum(e.credits) filter (where e.credits > 0), 0), coalesce(r.channel_id, max(e.channel_id))
  into charged, given_in_all, charged_on from ledger_entry e
  where e.request_id = r.id and e.kind = 'adjust';
  select e.credits into before from ledger_entry e
  where e.request_id = r.id and e.kind = 'adjust' and e.reason = p_reason;
  verdict := case
    when r.state = 'held' or charged = 0 and r.state <> 'settled' then 'not_settled'
    when before > 0 and before = coalesce(p_amount, before) then 'given_before'
    when before is not null then 'reason_reused'
    when given_in_all >= charged then 'nothing_left'
    when p_amount > charged - given_in_all then 'too_many'
    else 'given'
  end;
  if verdict = 'given' then
    given := coalesce(p_amount, charged - given_in_all);
    if given <= 0 then raise exception 'credits are given back, never taken' using errcode = '22023'; end if;
    began_on := (r.created_at at time zone 'UTC')::date;
    update api_key k set spent = k.spent - given,
      day_spent = k.day_spent - case when began_on >= k.used_on then given else 0 end,
      month_spent = k.month_spent - case when began_on >= date_trunc('month', k.used_on::timestamp) then given else 0 end
    where k.id = r.key_id;
    with account as (
      update credit_account a set balance = a.balance + given, grant_mark = a.grant_mark + given where a.project_id = r.project_id
      returning a.balance + a.reserved as total
    )
    insert into ledger_entry (project_id, kind, credits, balance_after, key_id, request_id, model_id, channel_id, reason, began_at)
    select r.project_id, 'adjust', given, account.total, r.key_id, r.id, r.model_id, charged_on, p_reason, r.created_at from account;
    given_in_all := given_in_all + given;
  end if;
  select a.balance into balance from credit_account a where a.project_id = r.project_id;
  return next;
end $$;
