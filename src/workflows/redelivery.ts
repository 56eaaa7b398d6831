import { CancellationScope } from '@temporalio/workflow';
import type { RedeliveryInput } from '../domain/tasks/workflow-contract.ts';
import { deliverDurably, listenForWakeUps } from './deliver-durably.ts';

/** Delivers a callback that was started again, under a workflow id of its own. */
export async function redelivery(input: RedeliveryInput): Promise<void> {
  const wakeUps = listenForWakeUps();
  await CancellationScope.nonCancellable(() => deliverDurably(input, wakeUps));
}
