-- Deletes rejected tasks. No client knows of them, and they have neither attempts nor deliveries.
create or replace function purge_rejected_tasks(p_seconds float8, p_limit int) returns int
language plpgsql
as $$
declare
  due text[];
  purged int;
begin
  select array_agg(id) into due from (
    select id from task where admission = 'rejected' and completed_at < clock_timestamp() - make_interval(secs => p_seconds)
    order by completed_at limit p_limit for update skip locked) over;
  perform forget_metadata(due);
  delete from task where id = any (due);
  get diagnostics purged = row_count;
  return purged;
end $$;
