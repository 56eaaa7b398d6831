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
import { scheduleIdOf, type JobName } from '../../domain/job.ts';
import { jobWorkflow, taskQueues, type JobInput } from '../../domain/workflow-contract.ts';

/** How often a job runs, and what its workflow needs to know. */
export interface JobSchedule {
  name: JobName;
  everySeconds: number;
  heartbeatTimeoutMs: number;
}

/**
 * Makes the Schedule of each job where there is none and brings its interval up to date. What an operator set, above all a
 * pause with its note, stays.
 */
export async function ensureSchedules(client: ScheduleClient, schedules: readonly JobSchedule[]): Promise<void> {
  for (const schedule of schedules) {
    const handle = client.getHandle(scheduleIdOf(schedule.name));
    const known = await handle.describe().catch((error: unknown) => {
      if (error instanceof ScheduleNotFoundError) return null;
      throw error;
    });
    if (!known) {
      await client.create({ scheduleId: scheduleIdOf(schedule.name), ...planOf(schedule) }).catch((error: unknown) => {
        // Another worker was faster.
        if (!(error instanceof ScheduleAlreadyRunning)) throw error;
      });
    } else if (!isAsPlanned(known, schedule)) {
      await handle.update(({ state }) => ({
        ...planOf(schedule),
        state: { paused: state.paused, ...(state.note !== undefined && { note: state.note }) },
      }));
    }
  }
}

/** Asks a job's Schedule for a run now, also while it is paused; it skips this while one is under way. */
export const triggerSchedule = (client: ScheduleClient, name: JobName): Promise<void> =>
  client.getHandle(scheduleIdOf(name)).trigger(ScheduleOverlapPolicy.SKIP);

type Plan = Pick<ScheduleOptions, 'spec' | 'policies'> & { action: ScheduleOptionsStartWorkflowAction<Workflow> };

function planOf({ name, everySeconds, heartbeatTimeoutMs }: JobSchedule): Plan {
  const input: JobInput = { name, heartbeatTimeoutMs };
  return {
    spec: { intervals: [{ every: everySeconds * 1_000 }] },
    action: {
      type: 'startWorkflow',
      workflowId: scheduleIdOf(name),
      workflowType: jobWorkflow,
      taskQueue: taskQueues.tasks,
      args: [input],
      staticSummary: `job ${name}`,
    },
    policies: {
      overlap: ScheduleOverlapPolicy.SKIP,
      // What was missed longer ago is made up for by the next turn: every run does all that is due.
      catchupWindow: Math.min(Math.max(everySeconds / 2, 10), 3_600) * 1_000,
    },
  };
}

function isAsPlanned({ spec, action }: ScheduleDescription, { everySeconds, ...input }: JobSchedule): boolean {
  const [interval, ...more] = spec.intervals ?? [];
  if (more.length > 0 || interval?.every !== everySeconds * 1_000) return false;
  return JSON.stringify(action.args) === JSON.stringify([input]);
}
