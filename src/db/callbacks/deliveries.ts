import type { DeliveryState } from '../../domain/callbacks/delivery-state.ts';
import type { Database, Statements } from '../database.ts';
import { recordAudit } from '../operators/audit.ts';

export interface DeliveryClaim {
  claimed: boolean;
  state: DeliveryState;
  /** Milliseconds until the next try is due or another holder's lease ends. */
  waitMs: number;
  /** The webhook-timestamp: unix seconds by the database clock. */
  claimedAt: number;
}

/** Claims one try; null if there is no such delivery. */
export async function claimDelivery(
  database: Database,
  { deliveryId, token, leaseSeconds }: { deliveryId: string; token: string; leaseSeconds: number },
): Promise<DeliveryClaim | null> {
  const [row] = await database.call<DeliveryClaim>('claim_delivery', [deliveryId, token, leaseSeconds]);
  return row ?? null;
}

export interface DeliveryContent {
  taskId: string;
  projectId: string;
  requestId: string;
  eventId: string;
  url: string;
  /** The number of counted tries before this one. */
  attempts: number;
  /** Stored at the first try, so that every retry sends the same bytes. */
  body: string | null;
  sealedSecret: string;
  /** Signs beside the new secret while a rotation overlaps. */
  sealedPreviousSecret: string | null;
}

/** What a try sends and to which address, with sealed secrets; null for an unknown or erased callback. */
export async function readDelivery(database: Database, deliveryId: string): Promise<DeliveryContent | null> {
  return database.first<DeliveryContent>(
    'read-delivery',
    `select d.task_id, d.project_id, t.request_id, d.event_id, d.url, d.attempts, d.body, p.callback_secret as sealed_secret,
       case when p.callback_secret_previous_until > clock_timestamp() then p.callback_secret_previous end as sealed_previous_secret
     from delivery d join project p on p.id = d.project_id join task t on t.id = d.task_id
     where d.id = $1 and d.url is not null`,
    [deliveryId],
  );
}

/** Stores the body of the first try, and returns the stored body, which may be that of another process. */
export async function saveDeliveryBody(database: Database, deliveryId: string, body: string): Promise<string> {
  const [row] = await database.query<{ body: string }>(
    'save-delivery-body',
    'update delivery set body = coalesce(body, $2) where id = $1 returning body',
    [deliveryId, body],
  );
  return row?.body ?? body;
}

/** Ends a claimed try; false if another holder had taken the lease over. */
export const endDeliveryTry = (
  database: Database,
  input: {
    deliveryId: string;
    token: string;
    state: DeliveryState;
    delaySeconds: number;
    status: number | null;
    errorClass: string | null;
    claimedAt: number;
  },
): Promise<boolean> => {
  const { deliveryId, token, state, delaySeconds, status, errorClass, claimedAt } = input;
  return database.value('end_delivery_try', [deliveryId, token, state, delaySeconds, status, errorClass, claimedAt]);
};

/** Gives a claim back without a try. The callback is due again after the delay. */
export async function postponeDelivery(
  database: Database,
  input: { deliveryId: string; token: string; delaySeconds: number },
): Promise<void> {
  await database.query(
    'postpone-delivery',
    `update delivery set lease_until = null, lease_token = null, next_attempt_at = clock_timestamp() + make_interval(secs => $3)
     where id = $1 and lease_token = $2 and state = 'pending'`,
    [input.deliveryId, input.token, input.delaySeconds],
  );
}

/** A callback that is due and that no process is sending. */
export interface OverdueDelivery {
  deliveryId: string;
  workflowId: string;
  adopted: boolean;
  /** The trace of its task's create request, if that was traced. */
  traceParent: string | null;
}

/**
 * Claims overdue callbacks for an early wake-up of their workflow, each at most once in `wakeUpSeconds`, and adopted ones whenever
 * they are due. Skips those in `except`, and with `adoptedOnly` those that a workflow delivers.
 */
export async function claimOverdueDeliveries(
  database: Database,
  input: { lateSeconds: number; wakeUpSeconds: number; limit: number; except: readonly string[]; adoptedOnly: boolean },
): Promise<OverdueDelivery[]> {
  return database.query<OverdueDelivery>(
    'claim-overdue-deliveries',
    `with overdue as (
       select id from delivery
       where ended_at is null and (lease_until is null or lease_until <= clock_timestamp())
         and ((adopted_at is not null and next_attempt_at <= clock_timestamp())
           or (adopted_at is null and not $5 and next_attempt_at <= clock_timestamp() - make_interval(secs => $1)
               and (woken_at is null or woken_at <= clock_timestamp() - make_interval(secs => $2))))
         and id <> all ($4)
       order by next_attempt_at limit $3 for no key update skip locked
     )
     update delivery d set woken_at = clock_timestamp() from overdue o where d.id = o.id
     returning d.id as delivery_id, coalesce(d.workflow_id, d.task_id) as workflow_id, d.adopted_at is not null as adopted,
       (select trace_parent from task where task.id = d.task_id)`,
    [input.lateSeconds, input.wakeUpSeconds, input.limit, input.except, input.adoptedOnly],
  );
}

/** Makes the sweep deliver this callback from now on, because its workflow is gone. */
export async function adoptDelivery(database: Database, deliveryId: string): Promise<void> {
  await database.query(
    'adopt-delivery',
    `update delivery set adopted_at = coalesce(adopted_at, clock_timestamp()) where id = $1 and state = 'pending'`,
    [deliveryId],
  );
}

/** Lets the next run claim the delivery again, because the wake-up was not sent. */
export async function forgetWakeUp(database: Database, deliveryId: string): Promise<void> {
  await database.query('forget-wake-up', 'update delivery set woken_at = null where id = $1', [deliveryId]);
}

/** The pending callback of an ended task, or null. */
export async function findPendingDelivery(database: Database, taskId: string): Promise<string | null> {
  const [row] = await database.query<{ id: string }>(
    'find-pending-delivery',
    `select id from delivery where task_id = $1 and state = 'pending' and workflow_id is null
     order by created_at desc limit 1`,
    [taskId],
  );
  return row?.id ?? null;
}

/** How often a callback may be sent again. */
export interface RedeliveryLimits {
  /** Between two redeliveries of one task. */
  cooldownSeconds: number;
  /** Redeliveries of one project that run at the same time; null for any number. */
  perProjectMax: number | null;
}

interface NewRedelivery {
  taskId: string;
  deliveryId: string;
  eventId: string;
  limits: RedeliveryLimits;
  /** The operator who asks for it, if one does. */
  actor?: string | undefined;
}

/** Starts a new delivery under these ids, and ends one that still waits. Any verdict but `started` is the reason why it did not. */
export const startRedelivery = (
  database: Database,
  { taskId, deliveryId, eventId, limits, actor }: NewRedelivery,
): Promise<'started' | 'no_callback' | 'erased' | 'not_ended' | 'too_soon' | 'too_many'> =>
  database.transaction('begin', async (_query, inside) => {
    const before = await findLastDelivery(inside, taskId);
    const values = [taskId, deliveryId, eventId, limits.cooldownSeconds, limits.perProjectMax];
    const verdict = await inside.value<Awaited<ReturnType<typeof startRedelivery>>>('redeliver', values);
    if (verdict === 'started' && actor !== undefined) {
      const after = { deliveryId, state: 'pending', attempts: 0 };
      await recordAudit(inside, { actor, action: 'tasks.redeliver', subject: taskId, before, after });
    }
    return verdict;
  });

/** The last delivery of a task, or null. */
const findLastDelivery = (
  database: Statements,
  taskId: string,
): Promise<{ deliveryId: string; state: string; attempts: number } | null> =>
  database.first(
    'last-delivery',
    'select id as delivery_id, state, attempts from delivery where task_id = $1 order by created_at desc limit 1',
    [taskId],
  );
