import { CancellationScope } from '@temporalio/workflow';
import { deliverDurably, listenForKicks } from './deliver-durably.ts';

/** A callback that was started again by hand, under its own id. */
export async function redelivery(input: { deliveryId: string; turnsMax: number }): Promise<void> {
  const kicks = listenForKicks();
  await CancellationScope.nonCancellable(() => deliverDurably(input.deliveryId, input.turnsMax, kicks));
}
