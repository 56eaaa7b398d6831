-- Writes a checkpoint: the sums of the last checkpoint plus the ledger entries since. Returns its id, or null if there are no
-- new entries. Keeps the last p_kept checkpoints.
-- The sums of its keys are those of one day and month. So while the clock is set back across midnight, entries of requests that began on the later
-- day, and all entries after them, wait for a later checkpoint.
create or replace function write_ledger_checkpoint(p_lag_seconds float8, p_kept int) returns bigint
language plpgsql
as $$
declare
  until timestamptz;
  day date;
  month_first date;
  earlier_day date;
  earlier bigint;
  since bigint := 0;
  through bigint;
  made bigint;
begin
  perform pg_advisory_xact_lock(7107, hashtext('ledger_checkpoint'));
  until := clock_timestamp() - make_interval(secs => p_lag_seconds);
  day := (until at time zone 'UTC')::date;
  month_first := date_trunc('month', day::timestamp)::date;
  select id, through_entry_id, (covers_until at time zone 'UTC')::date into earlier, since, earlier_day from ledger_checkpoint order by id desc limit 1;
  since := coalesce(since, 0);
  select max(id) into through from ledger_entry where created_at <= until;
  if through is null or day < earlier_day then return null; end if;
  through := least(through, (select min(id) - 1 from ledger_entry where id > since and began_at >= (day + 1)::timestamp at time zone 'UTC'));
  if through <= since then return null; end if;
  insert into ledger_checkpoint (through_entry_id, covers_until) values (through, until) returning id into made;
  insert into ledger_checkpoint_account (checkpoint_id, project_id, credits, deducted)
  select made, project_id, sum(credits), sum(deducted) from (
    select project_id, credits, deducted from ledger_checkpoint_account where checkpoint_id = earlier
    union all
    select project_id, credits, case kind when 'deduct' then -credits else 0 end
    from ledger_entry where id > since and id <= through) sums group by project_id;
  insert into ledger_checkpoint_key (checkpoint_id, key_id, spent, day_spent, month_spent)
  select made, key_id, sum(spent), sum(day_spent), sum(month_spent) from (
    select key_id, spent, in_period(day_spent, earlier_day, day) as day_spent, in_period(month_spent, earlier_day, month_first) as month_spent
    from ledger_checkpoint_key where checkpoint_id = earlier
    union all
    select key_id, -credits, in_period(-credits, (began_at at time zone 'UTC')::date, day),
      in_period(-credits, (began_at at time zone 'UTC')::date, month_first)
    from ledger_entry
    where id > since and id <= through and kind in ('settle', 'adjust') and key_id is not null) sums group by key_id;
  delete from ledger_checkpoint where id not in (select id from ledger_checkpoint order by id desc limit p_kept);
  return made;
end $$;
