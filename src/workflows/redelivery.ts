import { CancellationScope } from '@temporalio/workflow';
import type { RedeliveryInput } from '../domain/workflow-contract.ts';
import { deliverDurably, listenForKicks } from './deliver-durably.ts';

/** A callback that was started again by hand, under its own id. */
export async function redelivery({ deliveryId, limits }: RedeliveryInput): Promise<void> {
  const kicks = listenForKicks();
  await CancellationScope.nonCancellable(() => deliverDurably(deliveryId, limits, kicks));
}
