import type { ScheduledJobName } from './scheduled-job.ts';
import type { TaskErrorCode, TaskType } from './task.ts';
import type { AttemptOutcome } from '../channels/upstream.ts';

/** What routes, workers and workflows agree on. Temporal gets ids and words only, never prompts, URLs, keys or results. */
export const taskQueues = {
  /** Workflows and their local activities. */
  tasks: 'tollgate-tasks',
  /** Submit, poll and copy: thousands of concurrent activities, which mostly wait. */
  attempts: 'tollgate-attempts',
  /** Callbacks. Until the next release also what the two queues below have: a workflow of 0.1 sends it here. */
  deliveries: 'tollgate-deliveries',
  /** The regular activities that settle and refund when the local ones failed. */
  money: 'tollgate-money',
  scheduledJobs: 'tollgate-jobs',
} as const;

export const mediaTaskWorkflow = 'mediaTask';
export const redeliveryWorkflow = 'redelivery';
export const scheduledJobWorkflow = 'job';
export const reservedUpdate = 'reserved';
export const retryCallbackSignal = 'retryCallback';
/** A parked job has ended: the workflow runs its attempt again. */
export const collectSignal = 'collect';

export const searchAttributes = {
  model: 'TollgateModel',
  project: 'TollgateProject',
  kind: 'TollgateKind',
  outcome: 'TollgateOutcome',
} as const;

export interface MediaTaskInput {
  taskId: string;
  projectId: string;
  type: TaskType;
}

/** The result of the workflow's first step: the verdict about credits and the order of the channels. */
export interface TaskPlan {
  admitted: boolean;
  /** Time from the plan to the deadline, by the database clock. ≤ 0 ends the task without an attempt. */
  remainingMs: number;
  /** Set if the task has already ended: a workflow that is started again only delivers the callback. */
  ended: boolean;
  /** The callback that is still pending, if the task has already ended. */
  deliveryId: string | null;
  draw: ChannelDraw;
  limits: TaskLimits;
  /**
   * Whether the task waits for busy channels as long as its time allows. False while release 0.2.0 may still be started again, because its
   * workers cannot go on with such a wait. Absent in plans of that release.
   */
  waitsForBusyChannels?: boolean;
}

/** Settings that the workflow needs. They are part of the plan, so that a replay sees the values of the original run. */
export interface TaskLimits extends DeliveryLimits {
  attemptsMax: number;
  channelWaitsMax: number;
  heartbeatTimeoutMs: number;
}

export interface DeliveryLimits {
  /** The most turns of the delivery loop: own tries, and checks of a try that another process has claimed. */
  deliveryTurnsMax: number;
  /** The lease of one try. After it, the process that made the try counts as dead. */
  deliveryTryMs: number;
  /** After it, Temporal gives the try to another worker: it can lose an activity on its way to one. Absent in redeliveries of 0.2.0. */
  heartbeatTimeoutMs?: number;
}

export interface RedeliveryInput {
  deliveryId: string;
  projectId: string;
  limits: DeliveryLimits;
}

export interface ScheduledJobInput {
  name: ScheduledJobName;
  /** A worker without a heartbeat for this long counts as dead, and another worker runs the activity again. */
  heartbeatTimeoutMs: number;
}

export interface ChannelDraw {
  channels: { id: string; name: string }[];
  /** If no channel is available: how long until the first becomes available; null if none will. */
  waitMs: number | null;
  /** Whether a suitable channel is left out only because it is tripped or cooling down. */
  moreLater: boolean;
  /** Whether an attempt failed for another reason than that its channel was too busy. */
  hasFailed?: boolean;
}

export interface AttemptInput {
  taskId: string;
  channelId: string;
  /** The workflow understands the report `parked`. */
  parkable?: true;
  /** The workflow understands the `end` of a report. */
  reportsEnd?: true;
  /** The attempt that an earlier run has made. If the database lacks it, its job may be bought, and the outcome is unknown. */
  attemptId?: string;
}

/**
 * `skipped`: the channel is no longer available, no call was made. `over`: the task has ended meanwhile. `parked`: the job runs
 * on without an activity, and `collectSignal` says when the attempt can go on. `end`: the attempt has ended the task.
 */
export type AttemptReport =
  | { kind: AttemptOutcome; code: TaskErrorCode | null; end?: FinishReport }
  | { kind: 'skipped' }
  | { kind: 'over' }
  | { kind: 'deadline' }
  | { kind: 'parked'; attemptId?: string }
  | { kind: 'canceled' };

/** How a task ends. */
export type TaskOutcome =
  { kind: 'succeeded' } | { kind: 'failed'; code: TaskErrorCode; unknown: boolean } | { kind: 'canceled' };

export interface FinishInput {
  taskId: string;
  outcome: TaskOutcome;
}

export interface FinishReport {
  status: string;
  /** The callback to deliver, if there is one. */
  deliveryId: string | null;
}

/** The result of one turn of a delivery: nothing more to do, or how long until the next turn is due. */
export interface DeliveryReport {
  over: boolean;
  waitMs: number;
}

/** The static summary in the Temporal UI, such as "video veo-3.1 8s 1080p". */
export function taskSummary(type: TaskType, modelId: string, input: Readonly<Record<string, unknown>> | null): string {
  const word = (value: unknown, unit = '') =>
    typeof value === 'string' || typeof value === 'number' ? ` ${value}${unit}` : '';
  return `${type} ${modelId}${word(input?.['duration'], 's')}${word(input?.['resolution'])}${word(input?.['img_size'])}`.slice(
    0,
    200,
  );
}
