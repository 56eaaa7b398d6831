-- The credits of a threshold: the number itself, or a percent of the last top-up of the project, rounded up; null without one.
create or replace function alert_credits(p_project_id text, p_threshold text) returns bigint
language sql stable
as $$
  select case when p_threshold like '%\%' then (
    -- "offset 0" keeps the planner to the index of top-ups, which are few.
    select ceil(topup.credits * rtrim(p_threshold, '%')::numeric / 100)::bigint
    from (select e.id, e.credits from ledger_entry e where e.project_id = p_project_id and e.kind = 'topup' offset 0) topup
    order by topup.id desc limit 1)
  else p_threshold::bigint end
$$;
