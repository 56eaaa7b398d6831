import { setCurrentDetails, sleep } from '@temporalio/workflow';
import type { ChannelDraw, TaskOutcome, TaskPlan } from '../domain/tasks/workflow-contract.ts';
import type { AttemptScope } from './attempt-on.ts';
import { durably } from './durably.ts';
import { failedOutcome, tryInOrder, type Ended, type TriesReport } from './try-in-order.ts';

/**
 * What `tryChannels` did after the first draw before `wait-for-busy-channels`: workflows of release 0.2 that already waited go on with it.
 * It waits at most five times, and ends a task whose only channel was too busy.
 */
export async function tryFewTimes(
  scope: AttemptScope,
  plan: TaskPlan,
  first: TriesReport,
): Promise<TaskOutcome | Ended> {
  const { attemptsMax, channelWaitsMax } = plan.limits;
  let draw = plan.draw;
  let pass = first;
  let attempts = first.attempts;

  for (let waits = 0; ;) {
    // A skipped channel has tripped since the draw, or is running its only permitted call. It becomes available again.
    const nothingLater = !draw.moreLater && !pass.skipped && draw.channels.length > 0;
    if (pass.skipped && pass.attempts === 0) {
      if (waits >= channelWaitsMax) break;
      waits += 1;
      await sleep(500 * 2 ** waits);
    }
    if (attempts >= attemptsMax || nothingLater) break;

    const waited: ChannelDraw = draw.channels.length > 0 ? await redraw(scope) : draw;
    if (waited.channels.length > 0) {
      draw = waited;
    } else {
      // Every channel is tripped or cooling down. Wait for the first one if a fifth of the lifetime is left after the wait.
      const enoughLeft = waited.waitMs !== null && scope.deadline - Date.now() - waited.waitMs >= plan.remainingMs / 5;
      if (waited.waitMs === null || !enoughLeft || waits >= channelWaitsMax) break;
      waits += 1;
      setCurrentDetails('waiting for a channel to become available');
      await sleep(waited.waitMs + 100);
      draw = await redraw(scope);
    }
    pass = await tryInOrder(scope, draw.channels);
    if (pass.outcome) return pass.outcome;
    attempts += pass.attempts;
  }
  return failedOutcome(attempts > 0 ? 'upstream_failed' : 'no_channel_available');
}

const redraw = ({ task }: AttemptScope): Promise<ChannelDraw> => durably((money) => money.drawChannels(task.taskId));
