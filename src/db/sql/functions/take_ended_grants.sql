-- Takes what is left of ended grants out of an account, which the caller has locked, by an entry for each. Returns how many credits that were.
-- Called again, it takes what refunds have brought back to these grants since.
create or replace function take_ended_grants(p_project_id text) returns bigint
language plpgsql
as $$
declare
  ended record;
  taken bigint := 0;
  total bigint;
begin
  select a.balance + a.reserved into total from credit_account a where a.project_id = p_project_id;
  for ended in
    select g.id, g.reference, x.remaining from left_of_grants(p_project_id) x join credit_grant g on g.id = x.id
    where x.has_ended and x.remaining > 0 order by g.ends_at, g.id
  loop
    taken := taken + ended.remaining;
    insert into ledger_entry (project_id, kind, credits, balance_after, reference)
    values (p_project_id, 'expiry', -ended.remaining, total - taken, ended.reference);
    update credit_grant set expired = expired + ended.remaining where id = ended.id;
  end loop;
  if taken > 0 then
    update credit_account a set balance = a.balance - taken, grant_mark = a.grant_mark - taken where a.project_id = p_project_id;
  end if;
  return taken;
end $$;
