import { condition, defineUpdate, proxyActivities, proxyLocalActivities, setHandler } from '@temporalio/workflow';

interface Bare {
  step(): Promise<boolean>;
  work(): Promise<boolean>;
}

const local = proxyLocalActivities<Pick<Bare, 'step'>>({ startToCloseTimeout: '5 seconds' });
const { work } = proxyActivities<Pick<Bare, 'work'>>({
  taskQueue: 'tollgate-attempts',
  scheduleToCloseTimeout: '10 minutes',
  heartbeatTimeout: '30 seconds',
});

/** The least that a media task could be: two local activities, one activity, nothing in them. */
export async function bare(): Promise<void> {
  const decided: { first?: boolean } = {};
  setHandler(defineUpdate<boolean>('reserved'), async () => {
    await condition(() => decided.first !== undefined);
    return decided.first ?? false;
  });
  decided.first = await local.step();
  await work();
  await local.step();
}
