import { Migration } from '@mikro-orm/migrations';

/** Claimed tries of a callback, redelivery under a new id, and a client's cancel. */
export class Migration0004Deliveries extends Migration {
  override name = '0004-deliveries';

  override up(): void {
    for (const sql of [columns, claimDelivery, endDeliveryTry, redeliver]) this.addSql(sql);
  }
}

const columns = `
-- Whose durable waits this delivery has; null for the task's own workflow.
alter table delivery add column workflow_id text;
-- Set once its workflow was found gone: from then on the sweep delivers it.
alter table delivery add column adopted_at timestamptz;
`;

/**
 * Claims one try: pending, due and not leased, by the database clock. One row back when claimed; its body is what was
 * stored at the first try. A lease that ran out may be taken: the try before it is not known to have arrived.
 */
const claimDelivery = `
create function claim_delivery(p_id text, p_token text, p_lease_seconds float8)
returns table (claimed boolean, state text, wait_ms float8, claimed_at float8) language plpgsql as $$
#variable_conflict use_column
declare
  d delivery;
begin
  select * into d from delivery where id = p_id for update;
  if not found then return; end if;
  state := d.state;
  claimed := d.state = 'pending' and d.next_attempt_at <= clock_timestamp()
    and (d.lease_until is null or d.lease_until <= clock_timestamp());
  wait_ms := greatest(0, extract(epoch from greatest(d.next_attempt_at, coalesce(d.lease_until, d.next_attempt_at)) - clock_timestamp()) * 1000);
  claimed_at := extract(epoch from clock_timestamp());
  if claimed then
    update delivery set lease_until = clock_timestamp() + make_interval(secs => p_lease_seconds), lease_token = p_token
    where id = p_id;
  end if;
  return next;
end $$;
`;

/** Ends a claimed try and counts it; a holder whose lease was taken changes nothing. */
const endDeliveryTry = `
create function end_delivery_try(
  p_id text, p_token text, p_state text, p_delay_seconds float8, p_status int, p_error_class text, p_claimed_at float8)
returns table (ended boolean, attempts int) language plpgsql as $$
#variable_conflict use_column
declare
  d delivery;
begin
  update delivery set
    state = p_state, attempts = delivery.attempts + 1, last_status = p_status, lease_until = null, lease_token = null,
    next_attempt_at = case when p_state = 'pending' then clock_timestamp() + make_interval(secs => p_delay_seconds) end,
    ended_at = case when p_state <> 'pending' then clock_timestamp() end
  where id = p_id and lease_token = p_token and state = 'pending'
  returning * into d;
  ended := found;
  attempts := d.attempts;
  if ended then
    insert into delivery_attempt (delivery_id, n, started_at, ended_at, status, error_class)
    values (p_id, d.attempts, to_timestamp(p_claimed_at), clock_timestamp(), p_status, p_error_class);
  end if;
  return next;
end $$;
`;

/** Starts a task's callback again under a new id; one that still waits ends here. Verdicts: started, no_callback, erased, not_ended. */
const redeliver = `
create function redeliver(p_task_id text, p_delivery_id text, p_event_id text) returns text language plpgsql as $$
declare
  t task;
begin
  select * into t from task where id = p_task_id for no key update;
  if not found or t.callback_url is null then return 'no_callback'; end if;
  if t.completed_at is null then return 'not_ended'; end if;
  if t.expires_at <= clock_timestamp() then return 'erased'; end if;
  update delivery set state = 'exhausted', ended_at = clock_timestamp(), next_attempt_at = null, lease_token = null, lease_until = null
  where task_id = p_task_id and state = 'pending';
  insert into delivery (id, task_id, project_id, event_id, url, next_attempt_at, workflow_id)
  values (p_delivery_id, t.id, t.project_id, p_event_id, t.callback_url, clock_timestamp(), p_delivery_id);
  return 'started';
end $$;
`;
