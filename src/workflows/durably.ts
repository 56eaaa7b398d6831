import { isCancellation, proxyActivities, proxyLocalActivities } from '@temporalio/workflow';
import type { Activities } from '../activities/index.ts';
import { taskQueues } from '../domain/tasks/workflow-contract.ts';

type MoneyActivities = Pick<Activities, 'planTask' | 'drawChannels' | 'drawAgain' | 'finishTask'>;

const local = proxyLocalActivities<MoneyActivities>({
  startToCloseTimeout: '5 seconds',
  retry: { maximumAttempts: 2, initialInterval: '200 milliseconds' },
});
const patient = proxyActivities<MoneyActivities>({
  taskQueue: taskQueues.money,
  startToCloseTimeout: '30 seconds',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '10 seconds' },
});

/**
 * Runs the step as a local activity, which is quick and cheap. If that fails, runs it as a regular activity, which is retried
 * until the database is available. Not an `async` function, because the SDK keeps a stack trace of every promise in a workflow: 12 µs
 * instead of 0.05 (medians of 9 interleaved runs, 27 November 2026).
 */
export const durably = <T>(call: (money: MoneyActivities) => Promise<T>): Promise<T> =>
  call(local).catch((error: unknown) => {
    if (isCancellation(error)) throw error;
    return call(patient);
  });
