-- Ends attempts with their results and, in the same transaction, their tasks (end_tasks): the rows of the files, the outcome, the
-- outputs, the credits and the delivery row of the callback. The first call to commit decides.
-- For an attempt that another holder has ended or taken over, `ours` is false and nothing changes. Called again with the same fencing
-- token, `ours` is true again, and the stored end of the task is returned.
-- A file whose draft was deleted makes the call fail, because then its bytes are deleted or about to be.
create or replace function finish_attempts(members jsonb)
returns table (ours boolean, finished boolean, status text, error_code text, delivery_id text)
language plpgsql
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  latest_day date;
  member jsonb;
  held attempt;
  kept_until timestamptz;
  recorded int;
  is_ours boolean[] := '{}';
  ending jsonb := '[]';
begin
  latest_day := lock_tasks(array(select m->>'task_id' from jsonb_array_elements(members) m));

  for member in select m from jsonb_array_elements(members) with ordinality as given (m, ord) order by ord loop
    select * into held from attempt where id = member->>'attempt_id' for update;
    ours := found and held.fence = member->>'fence' and coalesce(held.outcome, 'ok') = 'ok';
    is_ours := is_ours || ours;
    continue when not ours;
    ending := ending || member;
    continue when held.outcome is not null;

    kept_until := date_trunc('second', clock_timestamp()) + make_interval(secs => (member->>'retention_seconds')::float8);
    insert into file (id, project_id, task_id, purpose, storage_key, mime_type, bytes, sha256, width, height, duration, expires_at)
    select f.id, t.project_id, t.id, 'output', f.storage_key, f.mime_type, f.bytes, f.sha256, f.width, f.height, f.duration, kept_until
    from task t cross join jsonb_to_recordset(member->'files') as f (
      id text, storage_key text, mime_type text, bytes bigint, sha256 text, width int, height int, duration float8)
    where t.id = member->>'task_id'
    on conflict (storage_key) do update set mime_type = excluded.mime_type, bytes = excluded.bytes, sha256 = excluded.sha256,
      width = excluded.width, height = excluded.height, duration = excluded.duration, expires_at = excluded.expires_at
    where file.deleted_at is null;
    get diagnostics recorded = row_count;
    if recorded <> jsonb_array_length(member->'files') then
      raise exception 'a file of attempt % was not recorded, because retention has deleted its draft', held.id;
    end if;
    update attempt set outcome = 'ok', ended_at = clock_timestamp(), next_poll_at = null, outputs = (
      select jsonb_agg(jsonb_build_object(
        'file_id', f->'id', 'mime_type', f->'mime_type', 'bytes', f->'bytes', 'width', f->'width', 'height', f->'height',
        'duration', f->'duration', 'sha256', f->'sha256', 'expires_at', extract(epoch from kept_until)::bigint) order by ord)
      from jsonb_array_elements(member->'files') with ordinality as given (f, ord))
    where id = held.id;
  end loop;

  return query
    select asked.ours, coalesce(f.finished, false), f.status, f.error_code, f.delivery_id
    from unnest(is_ours) with ordinality as asked (ours, n)
    left join (select e.*, row_number() over () as place from end_tasks(ending, latest_day) e) f
      on asked.ours and f.place = (select count(*) from unnest(is_ours) with ordinality as before (ours, n) where before.ours and before.n <= asked.n)
    order by asked.n;
end $$;
