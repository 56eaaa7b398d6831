import {
  claimDelivery,
  endDeliveryTry,
  readDelivery,
  saveDeliveryBody,
  type DeliveryContent,
} from '../../db/deliveries.ts';
import { findTask, type TaskView } from '../../db/tasks.ts';
import type { Deps } from '../../deps.ts';
import { nextDeliveryStep, type DeliveryResult } from '../../domain/callback-schedule.ts';
import type { DeliveryReport } from '../../domain/workflow-contract.ts';
import type { Answer } from '../../platform/egress/egress.ts';
import type { Blocked, Failed } from '../../platform/egress/exchange.ts';
import { crashPoint } from '../../platform/crash-point.ts';
import { newId } from '../../platform/crypto/ids.ts';
import { readRetryAfter } from '../../platform/retry-after.ts';
import { webhookHeaders } from '../../platform/crypto/webhook-signature.ts';
import { callbackSecretContext } from '../projects/create-project.ts';
import { presentTask } from '../tasks/present-task.ts';

export type DeliverDeps = Pick<Deps, 'config' | 'db' | 'egress' | 'sealer' | 'urls' | 'logger'>;

const bodyBytesMax = 128_000;

/** What a try came to, for whoever made it. */
export interface TriedDelivery extends DeliveryReport {
  /** Whether the receiver accepted this try, and it was counted. */
  delivered: boolean;
}

/**
 * One try of a callback: the claim, a signed POST through the egress guard, the count. Returns when the next try is due, or that
 * there is none. A callback that cannot be signed or rendered is a counted try without a call, so that it also ends. Throws when the database is away. Delivery never changes the task or its credits.
 */
export async function deliverCallback(deps: DeliverDeps, deliveryId: string): Promise<TriedDelivery> {
  const { config, db } = deps;
  const token = newId('dlv');
  const claim = await claimDelivery(db, { deliveryId, token, leaseSeconds: config.callbacks.leaseSeconds });
  if (!claim || claim.state !== 'pending') return { over: true, waitMs: 0, delivered: false };
  if (!claim.claimed) return { over: false, waitMs: claim.waitMs, delivered: false };
  const delivery = await readDelivery(db, deliveryId);
  if (!delivery) return { over: true, waitMs: 0, delivered: false };

  const answer = await send(deps, { deliveryId, delivery, claimedAt: claim.claimedAt });
  crashPoint('after_callback_send_before_mark');

  const counted = delivery.attempts + 1;
  const step = nextDeliveryStep(counted, resultOf(answer), {
    retrySeconds: config.callbacks.retryScheduleSeconds,
    random: Math.random(),
  });
  const delaySeconds = step.state === 'pending' ? step.delaySeconds : 0;
  const status = answer.kind === 'answer' || answer.kind === 'failed' ? (answer.status ?? null) : null;
  const errorClass = answer.kind === 'answer' ? null : `${answer.kind}:${answer.reason}`;
  const isCounted = await endDeliveryTry(db, {
    deliveryId,
    token,
    state: step.state,
    delaySeconds,
    status,
    errorClass,
    claimedAt: claim.claimedAt,
  });
  const said = {
    task_id: delivery.taskId,
    request_id: delivery.requestId,
    delivery_id: deliveryId,
    event_id: delivery.eventId,
    status: status ?? undefined,
    error_class: errorClass ?? undefined,
  };
  if (!isCounted) {
    // It was redelivered under another id, or its lease expired. The next call returns the current state.
    deps.logger.warn(said, 'a callback was tried, but the try was taken over meanwhile: not counted');
    return { over: false, waitMs: 0, delivered: false };
  }
  deps.logger.info({ ...said, n: counted, state: step.state }, 'callback tried');
  return { over: step.state !== 'pending', waitMs: delaySeconds * 1000, delivered: step.state === 'delivered' };
}

/** Nothing was sent: no secret of the project can be opened, or the task cannot be put into words. */
interface Unsendable {
  kind: 'unsendable';
  reason: 'secret' | 'content';
}

async function send(
  deps: DeliverDeps,
  { deliveryId, delivery, claimedAt }: { deliveryId: string; delivery: DeliveryContent; claimedAt: number },
): Promise<Answer | Blocked | Failed | Unsendable> {
  const { config, db, egress, logger } = deps;
  const about = { project_id: delivery.projectId, task_id: delivery.taskId, delivery_id: deliveryId };
  const secrets = openSecrets(deps, delivery, about);
  if (secrets.length === 0) return { kind: 'unsendable', reason: 'secret' };

  let { body } = delivery;
  if (body === null) {
    const task = await findTask(db, delivery.taskId);
    try {
      body = callbackBody(deps, delivery, task);
    } catch (error) {
      logger.error({ ...about, err: error, alarm: true }, 'a callback cannot be put into words');
      return { kind: 'unsendable', reason: 'content' };
    }
    body = await saveDeliveryBody(db, deliveryId, body);
  }
  return egress.fetch(delivery.url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'user-agent': 'Tollgate-Callback/1',
      'x-request-id': delivery.requestId,
      ...webhookHeaders({ id: delivery.eventId, timestamp: Math.floor(claimedAt), body, secrets }),
    },
    body,
    timeoutMs: config.callbacks.timeoutSeconds * 1000,
    maxBytes: config.callbacks.answerMaxBytes,
    purpose: 'callback',
  });
}

function resultOf(answer: Answer | Blocked | Failed | Unsendable): DeliveryResult {
  if (answer.kind === 'blocked') return { kind: 'blocked' };
  // The master key may come back, or a release that knows the words: the schedule gives it a day.
  if (answer.kind === 'unsendable') return { kind: 'failed' };
  // A receiver that answered and then misbehaved is counted by its status.
  if (answer.kind === 'failed' && answer.status === undefined) return { kind: 'failed' };
  if (answer.kind === 'failed') return { kind: 'answered', status: answer.status ?? 0, retryAfterSeconds: null };
  return {
    kind: 'answered',
    status: answer.status,
    retryAfterSeconds: readRetryAfter(answer.headers['retry-after'], Date.now()),
  };
}

/** The secrets that sign: the project's own and, while a rotation overlaps, the one before. One that cannot be opened leaves it to the other. */
function openSecrets(
  { sealer, logger }: Pick<Deps, 'sealer' | 'logger'>,
  { projectId, sealedSecret, sealedPreviousSecret }: DeliveryContent,
  about: object,
): string[] {
  const context = callbackSecretContext(projectId);
  return [sealedSecret, sealedPreviousSecret].flatMap((sealed) => {
    if (sealed === null) return [];
    try {
      return [sealer.open(sealed, context)];
    } catch (error) {
      logger.error({ ...about, err: error, alarm: true }, "a project's callback secret cannot be opened");
      return [];
    }
  });
}

/** `{id, type, timestamp, data}` with the task exactly as it is polled at the first try. Throws for a task that it cannot tell. */
function callbackBody(deps: Pick<Deps, 'urls'>, delivery: DeliveryContent, task: TaskView | null): string {
  if (!task) throw new Error(`the task ${delivery.taskId} of a delivery is gone`);
  const data = presentTask(deps, task);
  const event = {
    id: delivery.eventId,
    type: `task.${task.status}`,
    timestamp: new Date((task.completedAt ?? 0) * 1000).toISOString(),
  };
  const body = JSON.stringify({ ...event, data });
  if (Buffer.byteLength(body) <= bodyBytesMax) return body;
  // Only the client's own words can be this long; it has them.
  return JSON.stringify({ ...event, data: { ...data, input: null } });
}
