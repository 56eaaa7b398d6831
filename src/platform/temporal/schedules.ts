import {
  ScheduleAlreadyRunning,
  ScheduleNotFoundError,
  ScheduleOverlapPolicy,
  type ScheduleClient,
  type ScheduleDescription,
  type ScheduleOptions,
  type ScheduleOptionsStartWorkflowAction,
} from '@temporalio/client';
import type { Workflow } from '@temporalio/common';
import { scheduleIdOf, type ScheduledJobName } from '../../domain/tasks/scheduled-job.ts';
import { scheduledJobWorkflow, taskQueues, type ScheduledJobInput } from '../../domain/tasks/workflow-contract.ts';

/** How often a job runs, and the input of its workflow. */
export interface ScheduledJobSettings {
  name: ScheduledJobName;
  everySeconds: number;
  heartbeatTimeoutMs: number;
}

/**
 * Creates the missing Schedules of the jobs and updates the intervals of the others. It keeps an operator's changes, above all a
 * pause and its note.
 */
export async function ensureSchedules(
  client: ScheduleClient,
  schedules: readonly ScheduledJobSettings[],
): Promise<void> {
  for (const schedule of schedules) {
    const handle = client.getHandle(scheduleIdOf(schedule.name));
    const existing = await handle.describe().catch((error: unknown) => {
      if (error instanceof ScheduleNotFoundError) return null;
      throw error;
    });
    if (!existing) {
      await client.create({ scheduleId: scheduleIdOf(schedule.name), ...planOf(schedule) }).catch((error: unknown) => {
        // Another worker has created it meanwhile.
        if (!(error instanceof ScheduleAlreadyRunning)) throw error;
      });
    } else if (!isAsPlanned(existing, schedule)) {
      await handle.update(({ state }) => ({
        ...planOf(schedule),
        state: { paused: state.paused, ...(state.note !== undefined && { note: state.note }) },
      }));
    }
  }
}

/** Triggers a run of a job's Schedule now, even while it is paused. The Schedule skips this during a run. */
export const triggerSchedule = (client: ScheduleClient, name: ScheduledJobName): Promise<void> =>
  client.getHandle(scheduleIdOf(name)).trigger(ScheduleOverlapPolicy.SKIP);

type SchedulePlan = Pick<ScheduleOptions, 'spec' | 'policies'> & {
  action: ScheduleOptionsStartWorkflowAction<Workflow>;
};

function planOf({ name, everySeconds, heartbeatTimeoutMs }: ScheduledJobSettings): SchedulePlan {
  const input: ScheduledJobInput = { name, heartbeatTimeoutMs };
  return {
    spec: { intervals: [{ every: everySeconds * 1_000 }] },
    action: {
      type: 'startWorkflow',
      workflowId: scheduleIdOf(name),
      workflowType: scheduledJobWorkflow,
      taskQueue: taskQueues.tasks,
      args: [input],
      staticSummary: `job ${name}`,
    },
    policies: {
      overlap: ScheduleOverlapPolicy.SKIP,
      // Older missed runs need no catch-up, because every run does all that is due.
      catchupWindow: Math.min(Math.max(everySeconds / 2, 10), 3_600) * 1_000,
    },
  };
}

function isAsPlanned({ spec, action }: ScheduleDescription, { everySeconds, ...input }: ScheduledJobSettings): boolean {
  const [interval, ...more] = spec.intervals ?? [];
  if (more.length > 0 || interval?.every !== everySeconds * 1_000) return false;
  return JSON.stringify(action.args) === JSON.stringify([input]);
}
