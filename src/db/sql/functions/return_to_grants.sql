-- Accounts for what requests of earlier intervals gave back at their end: [{project_id, n, back}], with accounts that the caller has locked and
-- credits that are in their balances by now. What goes back to a grant that has ended leaves with it.
create or replace function return_to_grants(p_returns jsonb) returns void
language plpgsql
as $$
declare
  returned record;
begin
  for returned in
    select x.project_id, x.n, sum(x.back)::bigint as back from jsonb_to_recordset(p_returns) as x (project_id text, n int, back bigint) group by 1, 2
  loop
    update grant_interval i set used = i.used - returned.back where i.project_id = returned.project_id and i.n = returned.n;
    update credit_account a set grant_mark = a.grant_mark + returned.back
    where a.project_id = returned.project_id and a.grant_mark is not null;
  end loop;
  perform take_ended_grants(x.project_id) from (select distinct r ->> 'project_id' as project_id from jsonb_array_elements(p_returns) r) x;
end $$;
