import { condition, defineSignal, proxyActivities, setCurrentDetails, setHandler } from '@temporalio/workflow';
import type { Activities } from '../activities/index.ts';
import { retryCallbackSignal, taskQueues, type RedeliveryInput } from '../domain/tasks/workflow-contract.ts';

/** Set by the signal that ends a callback's wait early. */
export interface WakeUps {
  pending: boolean;
}

export function listenForWakeUps(): WakeUps {
  const wakeUps: WakeUps = { pending: false };
  setHandler(defineSignal(retryCallbackSignal), () => {
    wakeUps.pending = true;
  });
  return wakeUps;
}

/**
 * Delivers one callback, one try per activity with durable waits between the tries. Call this in a non-cancellable scope, because
 * every wait throws in a canceled one. The maximum of turns bounds the history; after the last turn a sweep delivers the callback.
 */
export async function deliverDurably(
  { deliveryId, projectId, limits }: RedeliveryInput,
  wakeUps: WakeUps,
): Promise<void> {
  const { deliver } = proxyActivities<Pick<Activities, 'deliver'>>({
    taskQueue: taskQueues.deliveries,
    // One try ends within its own timeout and lease. After that the worker must be gone.
    startToCloseTimeout: limits.deliveryTryMs,
    heartbeatTimeout: limits.heartbeatTimeoutMs,
    retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '30 seconds' },
    priority: { fairnessKey: projectId },
  });
  for (let turn = 0; turn < limits.deliveryTurnsMax; turn++) {
    const report = await deliver(deliveryId);
    if (report.over) return;
    setCurrentDetails('waiting to try the callback again');
    wakeUps.pending = false;
    await condition(() => wakeUps.pending, Math.max(report.waitMs, 100));
  }
}
