import type { Client } from '@temporalio/client';
import { z } from 'zod';
import { isTemporalAway, isWorkflowGone } from './temporal-errors.ts';

/** What Temporal has of a task: whether there is a workflow, and the channels on which that workflow began an attempt. */
export type WorkflowRecord = { hasWorkflow: boolean; channelIds: string[] } | 'unreachable';

/** Whether the workflow began an attempt on a channel other than these, which are the channels of the attempts in the database. */
export const hasUnrecordedAttempt = (
  { channelIds }: Exclude<WorkflowRecord, 'unreachable'>,
  recorded: readonly string[],
): boolean => channelIds.some((channelId) => !recorded.includes(channelId));

/** Reads the history of the latest workflow of a task, within `timeoutMs`. */
export async function readWorkflowRecord(client: Client, taskId: string, timeoutMs: number): Promise<WorkflowRecord> {
  try {
    const { events } = await client.withDeadline(Date.now() + timeoutMs, () =>
      client.workflow.getHandle(taskId).fetchHistory(),
    );
    const inputs = (events ?? []).flatMap(({ activityTaskScheduledEventAttributes: scheduled }) =>
      scheduled?.activityType?.name === attemptActivity ? (scheduled.input?.payloads ?? []) : [],
    );
    const channelIds = inputs.map(({ data }) =>
      channelOf.parse(JSON.parse(new TextDecoder().decode(data ?? undefined))),
    );
    return { hasWorkflow: true, channelIds: [...new Set(channelIds)] };
  } catch (error) {
    if (isWorkflowGone(error)) return { hasWorkflow: false, channelIds: [] };
    if (isTemporalAway(error)) return 'unreachable';
    throw error;
  }
}

/** The activity of an attempt names its channel in its input (`AttemptInput`). */
const attemptActivity = 'attempt';
const channelOf = z.object({ channelId: z.string() }).transform(({ channelId }) => channelId);

/** Ends the running workflow of a task without a further step. One that has closed stays as it is. False if Temporal is unavailable. */
export async function terminateWorkflow(
  client: Client,
  { taskId, reason, timeoutMs }: { taskId: string; reason: string; timeoutMs: number },
): Promise<boolean> {
  try {
    await client.withDeadline(Date.now() + timeoutMs, () => client.workflow.getHandle(taskId).terminate(reason));
    return true;
  } catch (error) {
    if (isWorkflowGone(error)) return true;
    if (isTemporalAway(error)) return false;
    throw error;
  }
}
