-- Marks expired files as deleted, so that no request finds or prolongs them; the caller deletes their bytes next. A file that
-- a running task names stays, whichever project's request stored it.
create or replace function claim_expired_files(p_limit int) returns int
language plpgsql
as $$
declare
  claimed int;
begin
  with live as materialized (
    select t.id, t.input from task t where t.completed_at is null and t.admission <> 'rejected'
  ), in_use as materialized (
    select distinct named.value #>> '{}' as id from live
    cross join lateral jsonb_path_query(live.input, 'strict $.** ? (@.type() == "string" && @ starts with "file_")') named (value)
  ), due as (
    select f.id from file f
    where f.deleted_at is null and f.expires_at <= clock_timestamp()
      and not exists (select from in_use where in_use.id = f.id)
      and not exists (select from live where live.id = f.task_id)
    order by f.expires_at limit p_limit for update skip locked
  )
  update file set deleted_at = clock_timestamp() from due where file.id = due.id;
  get diagnostics claimed = row_count;
  return claimed;
end $$;
