import { condition, defineSignal, proxyActivities, setCurrentDetails, setHandler } from '@temporalio/workflow';
import type { Activities } from '../activities/index.ts';
import { retryCallbackSignal, taskQueues, type DeliveryLimits } from '../domain/workflow-contract.ts';

/** Set by the signal that cuts a callback's wait short. */
export interface Kicks {
  pending: boolean;
}

export function listenForKicks(): Kicks {
  const kicks: Kicks = { pending: false };
  setHandler(defineSignal(retryCallbackSignal), () => {
    kicks.pending = true;
  });
  return kicks;
}

/**
 * Delivers one callback, a try per activity and durable waits between, until it is over. Call it in a non-cancellable scope:
 * in a cancelled one every wait throws. The limit of turns bounds the history; what then still waits is the sweep's.
 */
export async function deliverDurably(deliveryId: string, limits: DeliveryLimits, kicks: Kicks): Promise<void> {
  const { deliver } = proxyActivities<Pick<Activities, 'deliver'>>({
    taskQueue: taskQueues.deliveries,
    // One try ends within its own timeout and lease; more means that the worker is gone.
    startToCloseTimeout: limits.deliveryTryMs,
    retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '30 seconds' },
  });
  for (let turn = 0; turn < limits.deliveryTurnsMax; turn++) {
    const report = await deliver(deliveryId);
    if (report.over) return;
    setCurrentDetails('waiting to try the callback again');
    kicks.pending = false;
    await condition(() => kicks.pending, Math.max(report.waitMs, 100));
  }
}
