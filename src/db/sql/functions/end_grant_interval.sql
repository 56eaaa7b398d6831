-- Ends the present interval of an account, which the caller has locked, and begins the next one, whose number it returns. The holds of the
-- ended interval are marked with it, so that what they give back goes to the grants that paid for them.
create or replace function end_grant_interval(p_project_id text) returns int
language plpgsql
as $$
declare
  a credit_account;
begin
  select * into a from credit_account where project_id = p_project_id;
  if a.grant_mark is not null then
    insert into grant_interval (project_id, n, used) values (p_project_id, a.grant_interval, a.grant_mark - a.balance);
  end if;
  update hold set grant_interval = coalesce(a.grant_interval, 0) where project_id = p_project_id and grant_interval is null;
  update credit_account set grant_interval = coalesce(a.grant_interval, 0) + 1, grant_mark = balance where project_id = p_project_id;
  return coalesce(a.grant_interval, 0) + 1;
end $$;
