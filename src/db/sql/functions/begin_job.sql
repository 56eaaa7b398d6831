-- Takes the lock of a job, or returns the run that holds it. With p_request it only asks for a run: the next call for this
-- name takes that run over under the same id. A run whose lease has expired is marked as lost and replaced.
-- Verdicts: requested, running, already_running.
create or replace function begin_job(p_name text, p_id text, p_trigger text, p_lease_seconds float8, p_request boolean)
returns table (verdict text, run_id text)
language plpgsql
as $$
#variable_conflict use_column
declare
  active job_run;
begin
  perform pg_advisory_xact_lock(7107, hashtext(p_name));
  update job_run set state = 'lost', ended_at = clock_timestamp()
  where name = p_name and ended_at is null and lease_until <= clock_timestamp();
  select * into active from job_run where name = p_name and ended_at is null;
  if not found then
    insert into job_run (id, name, trigger, state, started_at, lease_until)
    values (p_id, p_name, p_trigger, case when p_request then 'requested' else 'running' end,
            case when not p_request then clock_timestamp() end, clock_timestamp() + make_interval(secs => p_lease_seconds));
    verdict := case when p_request then 'requested' else 'running' end;
    run_id := p_id;
  elsif active.state = 'requested' and not p_request then
    update job_run set state = 'running', started_at = clock_timestamp(),
      lease_until = clock_timestamp() + make_interval(secs => p_lease_seconds)
    where id = active.id;
    verdict := 'running';
    run_id := active.id;
  else
    verdict := 'already_running';
    run_id := active.id;
  end if;
  return next;
end $$;
