import { CancellationScope } from '@temporalio/workflow';
import type { RedeliveryInput } from '../domain/workflow-contract.ts';
import { deliverDurably, listenForWakeUps } from './deliver-durably.ts';

/** A callback that an operator has started again, under its own workflow id. */
export async function redelivery({ deliveryId, limits }: RedeliveryInput): Promise<void> {
  const wakeUps = listenForWakeUps();
  await CancellationScope.nonCancellable(() => deliverDurably(deliveryId, limits, wakeUps));
}
