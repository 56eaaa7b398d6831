-- Makes a file the output of a task that has ended without one, for an operator who has saved a result that the provider bills. The task keeps its
-- status, its error and its refund: it has ended once. With p_charge the quoted credits are taken from the project by an entry of its own.
-- The caller has written the draft of the file. Called again, each part happens once.
-- Verdicts: adopted, adopted_before (the task has an output; p_file is not used), unknown (also for a deleted task), not_ended, not_held,
-- erased, no_credits (nothing changed). `charged` is what this call took, `charged_in_all` what was taken for the task's adopted result.
create or replace function adopt_result(p_task_id text, p_file jsonb, p_retention_seconds float8, p_charge boolean, p_reason text)
returns table (verdict text, project_id text, output jsonb, charged bigint, charged_in_all bigint, balance bigint)
language plpgsql
as $$
declare
  t task;
  r reservation;
  kept_until timestamptz;
  made_by text;
begin
  charged := 0;
  select x.project_id into project_id from task x where x.id = p_task_id;
  perform lock_accounts(array[project_id]);
  select * into t from task where id = p_task_id for no key update;
  select * into r from reservation where id = p_task_id;
  verdict := case
    when t.id is null or t.deleted_at is not null then 'unknown'
    when t.completed_at is null then 'not_ended'
    when t.status = 'succeeded' or r.id is null or r.state <> 'refunded' then 'not_held'
    when t.output is not null then 'adopted_before'
    when t.input is null or t.expires_at <= clock_timestamp() then 'erased'
    else 'adopted'
  end;
  if verdict not in ('adopted', 'adopted_before') then
    return next;
    return;
  end if;

  perform expire_grants(t.project_id);
  select a.balance into balance from credit_account a where a.project_id = t.project_id;
  select coalesce(-sum(e.credits), 0) into charged_in_all from ledger_entry e
  where e.request_id = t.id and e.kind = 'adjust' and e.reason = p_reason;
  if p_charge and charged_in_all = 0 then
    if balance < t.credits_quoted then
      verdict := 'no_credits';
      return next;
      return;
    end if;
    charged := t.credits_quoted;
    -- A refund names no channel. The result is from the last one that took the job.
    select x.channel_id into made_by from attempt x where x.request_id = t.id order by (x.operation is not null) desc, x.n desc limit 1;
    charged_in_all := charged;
    update api_key k set spent = k.spent + charged,
      day_spent = k.day_spent + case when (r.created_at at time zone 'UTC')::date >= k.used_on then charged else 0 end,
      month_spent = k.month_spent
        + case when (r.created_at at time zone 'UTC')::date >= date_trunc('month', k.used_on::timestamp) then charged else 0 end
    where k.id = r.key_id;
    perform absorb_grants(t.project_id, charged);
    with account as (
      update credit_account a set balance = a.balance - charged, grant_mark = a.grant_mark - charged where a.project_id = t.project_id
      returning a.balance, a.balance + a.reserved as total
    ), entered as (
      insert into ledger_entry (project_id, kind, credits, balance_after, key_id, request_id, model_id, channel_id, reason, began_at)
      select t.project_id, 'adjust', -charged, account.total, r.key_id, t.id, r.model_id, coalesce(r.channel_id, made_by), p_reason, r.created_at from account
    )
    select account.balance into balance from account;
  end if;

  if verdict = 'adopted' then
    kept_until := date_trunc('second', clock_timestamp()) + make_interval(secs => p_retention_seconds);
    update file f set mime_type = p_file->>'mime_type', bytes = (p_file->>'bytes')::bigint, sha256 = p_file->>'sha256',
      width = (p_file->>'width')::int, height = (p_file->>'height')::int, duration = (p_file->>'duration')::float8, expires_at = kept_until
    where f.id = p_file->>'id' and f.task_id = t.id and f.deleted_at is null;
    if not found then raise exception 'the file of task % was not recorded, because retention has deleted its draft', t.id; end if;
    update task set expires_at = kept_until, output = jsonb_build_array(jsonb_build_object(
      'file_id', p_file->'id', 'mime_type', p_file->'mime_type', 'bytes', p_file->'bytes', 'width', p_file->'width', 'height', p_file->'height',
      'duration', p_file->'duration', 'sha256', p_file->'sha256', 'expires_at', extract(epoch from kept_until)::bigint))
    where id = t.id;
    perform notify_tasks(array[t.id]);
  end if;
  select x.output into output from task x where x.id = t.id;
  return next;
end $$;
