-- Takes from the grants of an account what its lasting credits do not cover of p_amount, which is about to leave it: of the grant that ends last
-- first. The caller has locked the account and then called expire_grants.
create or replace function absorb_grants(p_project_id text, p_amount bigint) returns void
language plpgsql
as $$
declare
  present record;
  uncovered bigint;
  part bigint;
begin
  select least(p_amount, p_amount - (a.balance - coalesce(sum(x.remaining), 0))) into uncovered
  from credit_account a left join left_of_grants(p_project_id) x on true where a.project_id = p_project_id group by a.project_id;
  for present in select * from left_of_grants(p_project_id) x where not x.has_ended order by x.ends_at desc, x.id desc loop
    exit when uncovered <= 0;
    part := least(uncovered, present.remaining);
    update credit_grant set absorbed = absorbed + part where id = present.id;
    uncovered := uncovered - part;
  end loop;
end $$;
