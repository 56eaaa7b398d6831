import type { Database } from './database.ts';

export type DeliveryState = 'pending' | 'delivered' | 'exhausted' | 'gone' | 'blocked';

export interface DeliveryClaim {
  claimed: boolean;
  state: DeliveryState;
  /** Until the next try is due, or the other holder's lease ends. */
  waitMs: number;
  /** Unix seconds by the database clock: the webhook-timestamp. */
  claimedAt: number;
}

/** Claims one try; null when there is no such delivery. */
export async function claimDelivery(
  database: Database,
  given: { deliveryId: string; token: string; leaseSeconds: number },
): Promise<DeliveryClaim | null> {
  return database.first<DeliveryClaim>(
    'claim-delivery',
    'select claimed, state, wait_ms, claimed_at from claim_delivery($1, $2, $3)',
    [given.deliveryId, given.token, given.leaseSeconds],
  );
}

/** What a claimed try sends, and to whom. */
export interface DeliveryContent {
  taskId: string;
  projectId: string;
  requestId: string;
  eventId: string;
  url: string;
  /** Counted tries before this one. */
  attempts: number;
  /** Stored at the first try, so that every retry carries equal bytes. */
  body: string | null;
  sealedSecret: string;
  /** Still signs beside the new one while a rotation overlaps. */
  sealedPreviousSecret: string | null;
}

/** What a try needs to know, the secrets still sealed; null for an unknown id. */
export async function readDelivery(database: Database, deliveryId: string): Promise<DeliveryContent | null> {
  return database.first<DeliveryContent>(
    'read-delivery',
    `select d.task_id, d.project_id, t.request_id, d.event_id, d.url, d.attempts, d.body, p.callback_secret as sealed_secret,
       case when p.callback_secret_previous_until > clock_timestamp() then p.callback_secret_previous end as sealed_previous_secret
     from delivery d join project p on p.id = d.project_id join task t on t.id = d.task_id where d.id = $1`,
    [deliveryId],
  );
}

/** Stores the body of the first try; the one that is stored wins. */
export async function saveDeliveryBody(database: Database, deliveryId: string, body: string): Promise<string> {
  const [row] = await database.query<{ body: string }>(
    'save-delivery-body',
    'update delivery set body = coalesce(body, $2) where id = $1 returning body',
    [deliveryId, body],
  );
  return row?.body ?? body;
}

/** Ends a claimed try; false when the lease had been taken by another holder. */
export async function endDeliveryTry(
  database: Database,
  given: {
    deliveryId: string;
    token: string;
    state: DeliveryState;
    delaySeconds: number;
    status: number | null;
    errorClass: string | null;
    claimedAt: number;
  },
): Promise<boolean> {
  const [row] = await database.query<{ ended: boolean }>(
    'end-delivery-try',
    'select ended from end_delivery_try($1, $2, $3, $4, $5, $6, $7)',
    [given.deliveryId, given.token, given.state, given.delaySeconds, given.status, given.errorClass, given.claimedAt],
  );
  return row?.ended ?? false;
}

/** A callback that is due and that no process is sending. */
export interface OverdueDelivery {
  deliveryId: string;
  workflowId: string;
  adopted: boolean;
}

/**
 * Claims overdue callbacks for an early wake-up of their workflow, each at most once in `wakeUpSeconds`, and adopted ones whenever
 * they are due. Skips those in `except`, and with `adoptedOnly` those that a workflow delivers.
 */
export async function claimOverdueDeliveries(
  database: Database,
  given: { lateSeconds: number; wakeUpSeconds: number; limit: number; except: readonly string[]; adoptedOnly: boolean },
): Promise<OverdueDelivery[]> {
  return database.query<OverdueDelivery>(
    'claim-overdue-deliveries',
    `with overdue as (
       select id from delivery
       where ended_at is null and (lease_until is null or lease_until <= clock_timestamp())
         and ((adopted_at is not null and next_attempt_at <= clock_timestamp())
           or (adopted_at is null and not $5 and next_attempt_at <= clock_timestamp() - make_interval(secs => $1)
               and (kicked_at is null or kicked_at <= clock_timestamp() - make_interval(secs => $2))))
         and id <> all ($4)
       order by next_attempt_at limit $3 for no key update skip locked
     )
     update delivery d set kicked_at = clock_timestamp() from overdue o where d.id = o.id
     returning d.id as delivery_id, coalesce(d.workflow_id, d.task_id) as workflow_id, d.adopted_at is not null as adopted`,
    [given.lateSeconds, given.wakeUpSeconds, given.limit, given.except, given.adoptedOnly],
  );
}

/** The workflow that waited for this callback is gone: the sweep delivers it from now on. */
export async function adoptDelivery(database: Database, deliveryId: string): Promise<void> {
  await database.query(
    'adopt-delivery',
    `update delivery set adopted_at = coalesce(adopted_at, clock_timestamp()) where id = $1 and state = 'pending'`,
    [deliveryId],
  );
}

/** The wake-up was not sent: the next run may claim the delivery again. */
export async function forgetWakeUp(database: Database, deliveryId: string): Promise<void> {
  await database.query('forget-wake-up', 'update delivery set kicked_at = null where id = $1', [deliveryId]);
}

/** The pending callback of an ended task, if it has one. */
export async function findPendingDelivery(database: Database, taskId: string): Promise<string | null> {
  const [row] = await database.query<{ id: string }>(
    'find-pending-delivery',
    `select id from delivery where task_id = $1 and state = 'pending' and workflow_id is null
     order by created_at desc limit 1`,
    [taskId],
  );
  return row?.id ?? null;
}

export type RedeliverVerdict = 'started' | 'no_callback' | 'erased' | 'not_ended';

/** Begins a delivery anew under these ids, in the place of one that still waits. Any other verdict says why it did not. */
export async function startRedelivery(
  database: Database,
  given: { taskId: string; deliveryId: string; eventId: string },
): Promise<RedeliverVerdict> {
  const [row] = await database.query<{ redeliver: RedeliverVerdict }>('redeliver', 'select redeliver($1, $2, $3)', [
    given.taskId,
    given.deliveryId,
    given.eventId,
  ]);
  return row?.redeliver ?? 'no_callback';
}
