-- Ends the grants of an account whose time has come: what is left of them leaves it. The caller has locked the account. A statement that decides about a
-- hold calls this first, so no request that begins after the end of a grant is paid by it. Returns the credits that left. Called again, it takes
-- nothing more. It also adds up the intervals whose requests have all ended.
create or replace function expire_grants(p_project_id text, p_at timestamptz default clock_timestamp()) returns bigint
language plpgsql
as $$
declare
  a credit_account;
  taken bigint := 0;
  -- Up to this interval all requests have ended.
  through int;
begin
  select * into a from credit_account where project_id = p_project_id;
  if a.grant_mark is null then return 0; end if;
  if a.grant_due_at <= p_at then
    perform end_grant_interval(p_project_id);
    update credit_grant set last_interval = a.grant_interval
    where project_id = p_project_id and not is_closed and last_interval is null and ends_at <= p_at;
    update credit_account set grant_due_at = (
      select min(g.ends_at) from credit_grant g where g.project_id = p_project_id and not g.is_closed and g.last_interval is null)
    where project_id = p_project_id;
    taken := take_ended_grants(p_project_id);
  end if;

  select coalesce(min(h.grant_interval), a.grant_interval + 1) - 1 into through
  from hold h where h.project_id = p_project_id and h.grant_interval is not null;
  if exists (select from grant_interval i where i.project_id = p_project_id and i.n <= through) then
    update credit_grant g set spent = g.amount - g.absorbed - g.expired - x.remaining,
      is_closed = coalesce(g.last_interval <= through, false)
    from left_of_grants(p_project_id, through) x where x.id = g.id;
    delete from grant_interval i where i.project_id = p_project_id and i.n <= through;
    if not exists (select from credit_grant g where g.project_id = p_project_id and not g.is_closed) then
      update credit_account set grant_mark = null, grant_due_at = null where project_id = p_project_id;
      delete from grant_interval i where i.project_id = p_project_id;
    end if;
  end if;
  return taken;
end $$;
