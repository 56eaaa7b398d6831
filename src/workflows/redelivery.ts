import { CancellationScope } from '@temporalio/workflow';
import type { RedeliveryInput } from '../domain/workflow-contract.ts';
import { deliverDurably, listenForWakeUps } from './deliver-durably.ts';

/** Delivers a callback that was started again, under a workflow id of its own. */
export async function redelivery({ deliveryId, limits }: RedeliveryInput): Promise<void> {
  const wakeUps = listenForWakeUps();
  await CancellationScope.nonCancellable(() => deliverDurably(deliveryId, limits, wakeUps));
}
