-- add_credits_until for credits that last, which release 0.2.0 calls during an upgrade.
create or replace function add_credits(p_project_id text, p_amount bigint, p_reference text)
returns table (verdict text, balance bigint, reserved bigint)
language plpgsql
as $$
begin
  return query select * from add_credits_until(p_project_id, p_amount, p_reference, null);
end $$;
