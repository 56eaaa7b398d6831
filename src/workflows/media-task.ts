import {
  CancellationScope,
  condition,
  defineUpdate,
  isCancellation,
  setHandler,
  upsertSearchAttributes,
} from '@temporalio/workflow';
import {
  reservedUpdate,
  searchAttributes,
  type FinishReport,
  type MediaTaskInput,
  type TaskOutcome,
  type TaskPlan,
} from '../domain/tasks/workflow-contract.ts';
import { listenForCollects } from './attempt-on.ts';
import { deliverDurably, listenForWakeUps } from './deliver-durably.ts';
import { durably } from './durably.ts';
import { tryChannels } from './try-channels.ts';
import type { Ended } from './try-in-order.ts';

/**
 * One media task, from its reservation to its settlement or refund. This workflow moves to the next channel; the retry of an
 * activity never does. Returns the task's final status, which is written before the workflow of an admitted task closes.
 */
export async function mediaTask({ taskId, projectId }: MediaTaskInput): Promise<string> {
  const decided: { plan?: TaskPlan } = {};
  // The API server waits for this update, which returns the verdict about credits.
  setHandler(defineUpdate<boolean>(reservedUpdate), async () => {
    await condition(() => decided.plan !== undefined);
    return decided.plan?.admitted ?? false;
  });

  const wakeUps = listenForWakeUps();
  const collects = listenForCollects();
  // Settling and the callback must survive a cancellation. One shared scope, because the promises of each take 12 µs (`durably`).
  const shielded = new CancellationScope({ cancellable: false });
  const plan = await shielded.run(() => durably((money) => money.planTask(taskId)));
  decided.plan = plan;
  if (!plan.admitted) return 'rejected';
  const deliver = (deliveryId: string) =>
    shielded.run(() => deliverDurably({ deliveryId, projectId, limits: plan.limits }, wakeUps));
  if (plan.ended) {
    if (plan.deliveryId !== null) await deliver(plan.deliveryId);
    return 'ended';
  }

  let cancellation: Error | undefined;
  let outcome: TaskOutcome | Ended;
  try {
    outcome = await tryChannels({ taskId, projectId }, plan, collects);
  } catch (error) {
    if (!(error instanceof Error) || !isCancellation(error)) throw error;
    cancellation = error;
    outcome = { kind: 'canceled' };
  }
  // Also protects the settlement and the callback from a cancellation that arrives now.
  const { status, deliveryId } =
    outcome.kind === 'ended' ? outcome.end : await shielded.run(() => finish(taskId, outcome));
  if (deliveryId !== null) await deliver(deliveryId);
  // The Temporal UI shows a canceled task as canceled, after its credits are back.
  if (cancellation !== undefined) throw cancellation;
  return status;
}

/** Settles or refunds, once. If another process has ended the task, it returns the status that this process wrote. */
function finish(taskId: string, outcome: TaskOutcome): Promise<FinishReport> {
  if (outcome.kind !== 'succeeded') {
    // A succeeded task saves this event, because its Completed status has the same meaning.
    upsertSearchAttributes({ [searchAttributes.outcome]: [outcome.kind === 'failed' ? outcome.code : outcome.kind] });
  }
  return durably((money) => money.finishTask({ taskId, outcome }));
}
