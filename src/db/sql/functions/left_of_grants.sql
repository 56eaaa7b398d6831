-- What is left of the open grants of a project, after the requests that began up to an interval (null: all). In each interval the grants pay
-- in the order of their ends for what its requests hold and were charged. What they do not cover is paid by credits that last.
-- remaining is what is left and has not left the account; the caller compares ends_at with the time.
create or replace function left_of_grants(p_project_id text, p_through int default null)
returns table (id bigint, ends_at timestamptz, has_ended boolean, remaining bigint)
language plpgsql stable
as $$
#variable_conflict use_column
declare
  ids bigint[];
  lefts bigint[];
  firsts int[];
  lasts int[];
  period record;
  paid bigint;
begin
  select array_agg(g.id order by g.ends_at, g.id), array_agg(g.amount - g.absorbed - g.spent order by g.ends_at, g.id),
    array_agg(g.first_interval order by g.ends_at, g.id), array_agg(g.last_interval order by g.ends_at, g.id)
  into ids, lefts, firsts, lasts
  from credit_grant g where g.project_id = p_project_id and not g.is_closed;
  if ids is null then return; end if;
  for period in
    select i.n, i.used from grant_interval i where i.project_id = p_project_id and (p_through is null or i.n <= p_through)
    union all
    select a.grant_interval, a.grant_mark - a.balance from credit_account a where a.project_id = p_project_id and p_through is null
    order by 1
  loop
    for g in 1..cardinality(ids) loop
      if firsts[g] <= period.n and (lasts[g] is null or lasts[g] >= period.n) then
        paid := least(lefts[g], period.used);
        lefts[g] := lefts[g] - paid;
        period.used := period.used - paid;
      end if;
    end loop;
  end loop;
  return query
    select g.id, g.ends_at, g.last_interval is not null, x.remaining - g.expired
    from unnest(ids, lefts) as x (id, remaining) join credit_grant g on g.id = x.id order by g.ends_at, g.id;
end $$;
