-- Writes an event for each threshold of a project that its credits have fallen to since the last call, and arms those that they have risen
-- above. Reserved credits count as credits of the project, so a hold that is refunded crosses nothing. The caller has locked the account.
-- Returns how many events it wrote.
--
-- The id of an event follows from the project, the threshold and how often the threshold was crossed. So a threshold that is taken away
-- keeps its row.
create or replace function note_balance_alerts(p_project_id text) returns int
language plpgsql
as $$
declare
  written int;
begin
  update balance_alert b set is_below = false from project p
  where p.id = p_project_id and b.project_id = p.id and b.is_below and b.threshold <> all (coalesce(p.alert_at, '{}'));
  with present as materialized (
    select x.threshold, alert_credits(p.id, x.threshold) as credits, a.balance, a.reserved, p.alert_url, p.alert_mail
    from project p join credit_account a on a.project_id = p.id cross join unnest(p.alert_at) as x (threshold)
    where p.id = p_project_id
  ), noted as (
    insert into balance_alert as b (project_id, threshold, is_below, crossings)
    select p_project_id, c.threshold, c.is_below, c.is_below::int
    from (select distinct threshold, coalesce(balance + reserved <= credits, false) as is_below from present) c
    on conflict (project_id, threshold) do update set is_below = excluded.is_below, crossings = b.crossings + excluded.crossings
      where b.is_below <> excluded.is_below
    returning b.threshold, b.is_below, b.crossings
  )
  insert into balance_event (id, project_id, threshold, threshold_credits, balance, reserved, url, hook_state, mail_to, mail_state, next_try_at)
  select 'evt_' || left(encode(sha256(convert_to(concat_ws(' ', p_project_id, c.threshold, n.crossings), 'UTF8')), 'hex'), 32),
    p_project_id, c.threshold, c.credits, c.balance, c.reserved,
    c.alert_url, case when c.alert_url is not null then 'pending' end, c.alert_mail, case when c.alert_mail is not null then 'pending' end,
    case when c.alert_url is not null or c.alert_mail is not null then clock_timestamp() end
  from present c join noted n on n.threshold = c.threshold and n.is_below
  on conflict (id) do nothing;
  get diagnostics written = row_count;
  return written;
end $$;
