import {
  claimDelivery,
  endDeliveryTry,
  postponeDelivery,
  readDelivery,
  saveDeliveryBody,
  type DeliveryContent,
} from '../../db/callbacks/deliveries.ts';
import { findTask } from '../../db/tasks/tasks.ts';
import type { Deps } from '../../deps.ts';
import {
  deliveryLeaseSeconds,
  nextDeliveryStep,
  type DeliveryResult,
  receiverAnswerBytesMax,
} from '../../domain/callbacks/callback-schedule.ts';
import type { DeliveryReport } from '../../domain/tasks/workflow-contract.ts';
import type { Answer } from '../../platform/egress/egress.ts';
import type { Blocked, Failed } from '../../platform/egress/exchange.ts';
import { crashPoint } from '../../platform/crash-point.ts';
import { newId } from '../../platform/crypto/ids.ts';
import { readRetryAfter } from '../../platform/retry-after.ts';
import { callbackBody, callbackHeaders, unsealSecrets } from './callback-message.ts';
import { alarmOf } from '../../domain/operators/alarm.ts';

export type DeliverDeps = Pick<
  Deps,
  'callbackSlots' | 'config' | 'db' | 'egress' | 'sealer' | 'urls' | 'logger' | 'metrics'
>;

export interface AttemptedDelivery extends DeliveryReport {
  /** Whether the receiver accepted this try and the try was counted. */
  delivered: boolean;
}

/**
 * Tries a callback once: claims it, sends a signed POST through the egress guard, and counts the try. Returns when the next try is
 * due, or that there is none. A callback that cannot be signed or rendered is counted as a try without a call, so that it ends
 * too. While its host or its project has no free slot, the callback is postponed, which is no try. Throws if the database is
 * unavailable. Delivery never changes the task or its credits.
 */
export async function deliverCallback(deps: DeliverDeps, deliveryId: string): Promise<AttemptedDelivery> {
  const { config, db } = deps;
  const token = newId('dlv');
  const claim = await claimDelivery(db, { deliveryId, token, leaseSeconds: deliveryLeaseSeconds(config.callbacks) });
  if (!claim || claim.state !== 'pending') return { over: true, waitMs: 0, delivered: false };
  if (!claim.claimed) return { over: false, waitMs: claim.waitMs, delivered: false };
  const delivery = await readDelivery(db, deliveryId);
  if (!delivery) return { over: true, waitMs: 0, delivered: false };

  const slot = await deps.callbackSlots.enter(delivery.projectId, new URL(delivery.url).host);
  if (slot.kind === 'busy') {
    await postponeDelivery(db, { deliveryId, token, delaySeconds: slot.waitSeconds });
    return { over: false, waitMs: slot.waitSeconds * 1000, delivered: false };
  }
  const sentAt = performance.now();
  const answer = await send(deps, { deliveryId, delivery, claimedAt: claim.claimedAt }).finally(() => slot.release());
  const sentMs = performance.now() - sentAt;
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
  const logFields = {
    task_id: delivery.taskId,
    request_id: delivery.requestId,
    delivery_id: deliveryId,
    event_id: delivery.eventId,
    status: status ?? undefined,
    error_class: errorClass ?? undefined,
  };
  if (!isCounted) {
    // The callback was redelivered under another id, or its lease expired. The next call returns the current state.
    deps.logger.warn(logFields, 'the try of a callback was not counted, because another process had taken it over');
    return { over: false, waitMs: 0, delivered: false };
  }
  deps.logger.info({ ...logFields, n: counted, state: step.state }, 'callback tried');
  deps.metrics.callbackAttempted(step.state, sentMs);
  return { over: step.state !== 'pending', waitMs: delaySeconds * 1000, delivered: step.state === 'delivered' };
}

/** Nothing was sent, because no secret of the project can be decrypted or the task cannot be rendered. */
interface Unsendable {
  kind: 'unsendable';
  reason: 'secret' | 'content';
}

async function send(
  deps: DeliverDeps,
  { deliveryId, delivery, claimedAt }: { deliveryId: string; delivery: DeliveryContent; claimedAt: number },
): Promise<Answer | Blocked | Failed | Unsendable> {
  const { config, db, egress, logger } = deps;
  const { eventId: id, requestId } = delivery;
  const about = { project_id: delivery.projectId, task_id: delivery.taskId, delivery_id: deliveryId };
  const secrets = unsealSecrets(deps, delivery, about);
  if (secrets.length === 0) return { kind: 'unsendable', reason: 'secret' };

  let { body } = delivery;
  if (body === null) {
    const task = await findTask(db, delivery.taskId);
    try {
      if (!task) throw new Error(`the task ${delivery.taskId} of a delivery was not found`);
      body = callbackBody(deps, id, task);
    } catch (error) {
      logger.error(
        { ...about, err: error, ...alarmOf('callback_unreadable') },
        'the body of a callback could not be rendered',
      );
      return { kind: 'unsendable', reason: 'content' };
    }
    body = await saveDeliveryBody(db, deliveryId, body);
  }
  return egress.fetch(delivery.url, {
    method: 'POST',
    headers: callbackHeaders(deps, { id, requestId, timestamp: Math.floor(claimedAt), body, secrets }),
    body,
    timeoutMs: config.callbacks.timeoutSeconds * 1000,
    maxBytes: receiverAnswerBytesMax,
    purpose: 'callback',
  });
}

function resultOf(answer: Answer | Blocked | Failed | Unsendable): DeliveryResult {
  if (answer.kind === 'blocked') return { kind: 'blocked' };
  // An operator may restore the master key, or deploy a release that can render the task, within the retry schedule.
  if (answer.kind === 'unsendable') return { kind: 'failed' };
  // If the receiver sent a status before the call failed, the status decides.
  if (answer.kind === 'failed' && answer.status === undefined) return { kind: 'failed' };
  if (answer.kind === 'failed') return { kind: 'answered', status: answer.status ?? 0, retryAfterSeconds: null };
  return {
    kind: 'answered',
    status: answer.status,
    retryAfterSeconds: readRetryAfter(answer.headers['retry-after'], Date.now()),
  };
}
