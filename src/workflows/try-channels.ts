import { patched, setCurrentDetails, sleep, workflowInfo } from '@temporalio/workflow';
import { channelWaitMs } from '../domain/channels/channel-wait.ts';
import type { TaskOutcome, TaskPlan } from '../domain/tasks/workflow-contract.ts';
import type { AttemptScope, Collects, TaskIds } from './attempt-on.ts';
import { durably } from './durably.ts';
import { tryFewTimes } from './try-few-times.ts';
import { failedOutcome, tryInOrder, type Ended } from './try-in-order.ts';

/** Tries the drawn channels in order until one succeeds, a channel refuses the request, or no channel comes back in time. */
export async function tryChannels(task: TaskIds, plan: TaskPlan, collects: Collects): Promise<TaskOutcome | Ended> {
  if (plan.remainingMs <= 0) return failedOutcome('task_timeout');
  const { heartbeatTimeoutMs } = plan.limits;
  const scope = { task, collects, heartbeatTimeoutMs, deadline: Date.now() + plan.remainingMs };
  const first = await tryInOrder(scope, plan.draw.channels);
  if (first.outcome) return first.outcome;
  return mayWait(plan) ? waitForChannels(scope, plan) : tryFewTimes(scope, plan, first);
}

/**
 * As the plan says. A workflow that release 0.2.0 planned gets no marker of the patch, with which a worker of that release could not go on. It
 * has one only if an earlier build of this release gave it.
 */
const mayWait = ({ waitsForBusyChannels }: TaskPlan): boolean =>
  waitsForBusyChannels ?? (workflowInfo().unsafe.isReplaying && patched('wait-for-busy-channels'));

/**
 * Draws the channels again until none can come back in time. A channel that was too busy, has tripped or cools down comes back, and the
 * task waits for the first one on a timer. A wait must leave a fifth of the task's time: a job that is bought later would hardly be done
 * before the deadline.
 */
async function waitForChannels(scope: AttemptScope, plan: TaskPlan): Promise<TaskOutcome | Ended> {
  const since = Date.now();
  const attemptedSinceWait = new Set(plan.draw.channels.map(({ id }) => id));
  for (;;) {
    const draw = await durably((money) => money.drawAgain(scope.task.taskId));
    const channels = draw.channels.filter(({ id }) => !attemptedSinceWait.has(id));
    if (channels.length > 0) {
      const { outcome } = await tryInOrder(scope, channels);
      if (outcome) return outcome;
      for (const { id } of channels) attemptedSinceWait.add(id);
      continue;
    }
    // A channel that was skipped is still drawn: it runs its only permitted call for another task.
    const availableInMs = draw.channels.length > 0 ? 0 : draw.waitMs;
    const waitMs = availableInMs === null ? Infinity : channelWaitMs({ availableInMs, waitedMs: Date.now() - since });
    if (scope.deadline - Date.now() - waitMs < plan.remainingMs / 5) {
      return failedOutcome(draw.hasFailed === true ? 'upstream_failed' : 'no_channel_available');
    }
    setCurrentDetails('waiting for a channel to become available');
    await sleep(waitMs);
    attemptedSinceWait.clear();
  }
}
