import {
  claimDelivery,
  endDeliveryTry,
  readDelivery,
  saveDeliveryBody,
  type DeliveryContent,
} from '../db/deliveries.ts';
import { findTask } from '../db/tasks.ts';
import type { Deps } from '../deps.ts';
import { nextDeliveryStep, type DeliveryResult } from '../domain/callback-schedule.ts';
import type { DeliveryReport } from '../domain/workflow-contract.ts';
import type { Answer, Blocked, Failed } from '../platform/egress.ts';
import { crashPoint } from '../platform/crash-point.ts';
import { newId } from '../platform/ids.ts';
import { readRetryAfter } from '../platform/retry-after.ts';
import { webhookHeaders } from '../platform/webhook-signature.ts';
import { callbackSecretContext } from './create-project.ts';
import { presentTask } from './present-task.ts';

export type DeliverDeps = Pick<Deps, 'config' | 'db' | 'egress' | 'sealer' | 'urls' | 'logger'>;

const bodyBytesMax = 128_000;

/**
 * One try of a callback, by whoever claims it: the claim, a signed POST through the egress guard, the count. Says when the
 * next one is due, or that there is none. Delivery never changes the task or its credits.
 */
export async function deliverCallback(deps: DeliverDeps, deliveryId: string): Promise<DeliveryReport> {
  const { config, db } = deps;
  const token = newId('dlv');
  const claim = await claimDelivery(db, { deliveryId, token, leaseSeconds: config.CALLBACK_LEASE_SECONDS });
  if (!claim || claim.state !== 'pending') return { over: true, waitMs: 0 };
  if (!claim.claimed) return { over: false, waitMs: claim.waitMs };
  const delivery = await readDelivery(db, deliveryId);
  if (!delivery) return { over: true, waitMs: 0 };

  const body = delivery.body ?? (await saveDeliveryBody(db, deliveryId, await callbackBody(deps, delivery)));
  const answer = await deps.egress.fetch(delivery.url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'user-agent': 'Tollgate-Callback/1',
      'x-request-id': delivery.requestId,
      ...webhookHeaders({
        id: delivery.eventId,
        timestamp: Math.floor(claim.claimedAt),
        body,
        secrets: openSecrets(deps, delivery),
      }),
    },
    body,
    timeoutMs: config.CALLBACK_TIMEOUT_SECONDS * 1000,
    maxBytes: config.CALLBACK_ANSWER_MAX_BYTES,
    purpose: 'callback',
  });
  crashPoint('after_callback_send_before_mark');

  const counted = delivery.attempts + 1;
  const step = nextDeliveryStep(counted, resultOf(answer), {
    ladderSeconds: config.CALLBACK_LADDER_SECONDS,
    random: Math.random(),
  });
  const delaySeconds = step.state === 'pending' ? step.delaySeconds : 0;
  const status = answer.kind === 'blocked' ? null : (answer.status ?? null);
  const errorClass = answer.kind === 'answer' ? null : `${answer.kind}:${answer.reason}`;
  await endDeliveryTry(db, {
    deliveryId,
    token,
    state: step.state,
    delaySeconds,
    status,
    errorClass,
    claimedAt: claim.claimedAt,
  });
  deps.logger.info(
    {
      task_id: delivery.taskId,
      request_id: delivery.requestId,
      delivery_id: deliveryId,
      event_id: delivery.eventId,
      n: counted,
      status: status ?? undefined,
      error_class: errorClass ?? undefined,
      state: step.state,
    },
    'callback tried',
  );
  return { over: step.state !== 'pending', waitMs: delaySeconds * 1000 };
}

function resultOf(answer: Answer | Blocked | Failed): DeliveryResult {
  if (answer.kind === 'blocked') return { kind: 'blocked' };
  // A receiver that answered and then misbehaved is counted by its status.
  if (answer.kind === 'failed' && answer.status === undefined) return { kind: 'failed' };
  if (answer.kind === 'failed') return { kind: 'answered', status: answer.status ?? 0, retryAfterSeconds: null };
  return {
    kind: 'answered',
    status: answer.status,
    retryAfterSeconds: readRetryAfter(answer.headers['retry-after'], Date.now()),
  };
}

function openSecrets({ sealer }: Pick<Deps, 'sealer'>, delivery: DeliveryContent): string[] {
  const context = callbackSecretContext(delivery.projectId);
  const current = sealer.open(delivery.sealedSecret, context);
  return delivery.sealedPreviousSecret === null
    ? [current]
    : [current, sealer.open(delivery.sealedPreviousSecret, context)];
}

/** `{id, type, timestamp, data}` with the task exactly as it is polled at the first try. */
async function callbackBody(deps: Pick<Deps, 'db' | 'urls'>, delivery: DeliveryContent): Promise<string> {
  const task = await findTask(deps.db, delivery.taskId);
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
