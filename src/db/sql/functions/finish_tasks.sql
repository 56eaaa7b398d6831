-- Ends tasks, each once: the first call to commit decides, later calls change nothing and return the stored result. The
-- task's status, its credits and the delivery row of its callback change in one transaction.
-- A success takes its outputs from the attempt that ended with 'ok'. Without such an attempt the call fails, because nothing
-- may be charged without a result.
create or replace function finish_tasks(members jsonb)
returns table (task_id text, finished boolean, status text, error_code text, delivery_id text)
language plpgsql
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  ids text[] := array(select m->>'task_id' from jsonb_array_elements(members) m);
  member jsonb;
  t record;
  won record;
  ended boolean;
begin
  perform lock_money(array_agg(distinct task.project_id), array_agg(distinct task.key_id)) from task where id = any (ids);
  perform from hold where id = any (ids) order by id for no key update;
  perform from task where id = any (ids) order by id for no key update;

  for member in select m from jsonb_array_elements(members) with ordinality as given (m, ord) order by ord loop
    select * into t from task where id = member->>'task_id';
    if not found then raise exception 'task % does not exist', member->>'task_id'; end if;
    task_id := t.id;
    finished := false;
    delivery_id := null;

    if t.completed_at is null and t.admission = 'open' then
      -- Nobody was ever told that this task exists: it ends as never admitted.
      update task set admission = 'rejected', refusal_code = 'service_unavailable', status = 'failed',
        completed_at = clock_timestamp(), input = null
      where id = t.id;
      delete from idempotency i where i.task_id = t.id;
      finished := true;
    elsif t.completed_at is null then
      won := null;
      if member->>'status' = 'succeeded' then
        select a.channel_id, a.outputs into strict won from attempt a
        where a.request_id = t.id and a.outcome = 'ok' and a.outputs is not null;
      else
        select null::text as channel_id, null::jsonb as outputs into won;
      end if;
      ended := end_reservation(t.id, case when member->>'status' = 'succeeded' then t.credits_quoted end, won.channel_id);
      if not ended then raise exception 'task % is open but its reservation is not held', t.id; end if;
      update task set
        status = member->>'status', completed_at = clock_timestamp(), output = won.outputs, channel_id = won.channel_id,
        error_code = member->>'error_code', outcome_unknown = coalesce((member->>'outcome_unknown')::boolean, false),
        progress = case when member->>'status' = 'succeeded' then 100 else task.progress end,
        credits_charged = case when member->>'status' = 'succeeded' then t.credits_quoted else 0 end,
        credits_refunded = case when member->>'status' = 'succeeded' then 0 else t.credits_quoted end,
        expires_at = clock_timestamp() + make_interval(secs => (member->>'retention_seconds')::float8)
      where id = t.id;
      if member->>'status' <> 'succeeded' then
        -- A parked job learns at its next poll that nobody wants it any more.
        update attempt a set next_poll_at = clock_timestamp() where a.request_id = t.id and a.next_poll_at is not null;
      end if;
      if t.callback_url is not null then
        insert into delivery (id, task_id, project_id, event_id, url, next_attempt_at)
        values (member->>'delivery_id', t.id, t.project_id, member->>'event_id', t.callback_url, clock_timestamp());
      end if;
      finished := true;
    end if;
    select task.status, task.error_code into status, error_code from task where id = t.id;
    select d.id into delivery_id from delivery d where d.task_id = t.id order by d.created_at desc limit 1;
    return next;
  end loop;
end $$;
