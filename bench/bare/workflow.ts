import {
  ActivityCancellationType,
  condition,
  defineUpdate,
  proxyActivities,
  proxyLocalActivities,
  setHandler,
} from '@temporalio/workflow';

interface Bare {
  step(): Promise<boolean>;
  work(): Promise<boolean>;
}

const local = proxyLocalActivities<Pick<Bare, 'step'>>({
  startToCloseTimeout: '5 seconds',
  retry: { maximumAttempts: 2, initialInterval: '200 milliseconds' },
});
const { work } = proxyActivities<Pick<Bare, 'work'>>({
  taskQueue: 'tollgate-attempts',
  scheduleToCloseTimeout: '10 minutes',
  heartbeatTimeout: '30 seconds',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '30 seconds' },
  cancellationType: ActivityCancellationType.TRY_CANCEL,
  priority: { fairnessKey: 'bare' },
  summary: 'bare',
});

/**
 * A minimal media task: two no-op local activities and one no-op activity. It has the name of the real workflow, because the same call
 * starts it.
 */
export async function mediaTask(): Promise<void> {
  const decided: { first?: boolean } = {};
  setHandler(defineUpdate<boolean>('reserved'), async () => {
    await condition(() => decided.first !== undefined);
    return decided.first ?? false;
  });
  decided.first = await local.step();
  await work();
  await local.step();
}
