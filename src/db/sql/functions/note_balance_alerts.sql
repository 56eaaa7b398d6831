-- Writes an event for each threshold of a project that its credits have fallen to since the last call, and arms those that they have risen
-- above. Reserved credits count as credits of the project, so a hold that is refunded crosses nothing. The caller has locked the account.
-- Returns how many events it wrote.
create or replace function note_balance_alerts(p_project_id text) returns int
language plpgsql
as $$
declare
  written int;
begin
  delete from balance_alert b using project p where p.id = p_project_id and b.project_id = p.id and b.threshold <> all (coalesce(p.alert_at, '{}'));
  with present as materialized (
    select x.threshold, alert_credits(p.id, x.threshold) as credits, a.balance, a.reserved, p.alert_url, p.alert_mail, coalesce(b.is_below, false) as was_below
    from project p join credit_account a on a.project_id = p.id cross join unnest(p.alert_at) as x (threshold)
    left join balance_alert b on b.project_id = p.id and b.threshold = x.threshold
    where p.id = p_project_id
  ), noted as (
    insert into balance_alert (project_id, threshold, is_below)
    select p_project_id, c.threshold, coalesce(c.balance + c.reserved <= c.credits, false) from present c
    on conflict (project_id, threshold) do update set is_below = excluded.is_below where balance_alert.is_below <> excluded.is_below
  )
  insert into balance_event (id, project_id, threshold, threshold_credits, balance, reserved, url, hook_state, mail_to, mail_state, next_try_at)
  select 'evt_' || replace(gen_random_uuid()::text, '-', ''), p_project_id, c.threshold, c.credits, c.balance, c.reserved,
    c.alert_url, case when c.alert_url is not null then 'pending' end, c.alert_mail, case when c.alert_mail is not null then 'pending' end,
    case when c.alert_url is not null or c.alert_mail is not null then clock_timestamp() end
  from present c where c.balance + c.reserved <= c.credits and not c.was_below;
  get diagnostics written = row_count;
  return written;
end $$;
