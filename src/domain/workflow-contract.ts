import type { JobName } from './job.ts';
import type { TaskErrorCode, TaskType } from './task.ts';
import type { AttemptOutcome } from './upstream.ts';

/** What routes, workers and workflows must agree on. Ids and words only: Temporal never sees prompts, URLs, keys or results. */
export const taskQueues = {
  /** Workflows and their local activities. */
  tasks: 'tollgate-tasks',
  /** Submit, poll, copy: thousands at once, mostly waiting. */
  attempts: 'tollgate-attempts',
  /** Callbacks, jobs and the slow path of money. */
  deliveries: 'tollgate-deliveries',
} as const;

export const mediaTaskWorkflow = 'mediaTask';
export const redeliveryWorkflow = 'redelivery';
export const jobWorkflow = 'job';
export const reservedUpdate = 'reserved';
export const retryCallbackSignal = 'retryCallback';

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

/** What the first step decided: the verdict about credits, and in which order to try the channels. */
export interface TaskPlan {
  admitted: boolean;
  /** Time to the deadline when the plan was made, by the database clock; ≤ 0 ends the task without an attempt. */
  remainingMs: number;
  /** Set when the task has ended before: the workflow was started again and has nothing to do but its callback. */
  ended: boolean;
  /** The callback that still waits, when the task has ended before. */
  deliveryId: string | null;
  draw: ChannelDraw;
  limits: TaskLimits;
}

/** Numbers from configuration that the story needs; they travel with the plan so that a replay sees what was true then. */
export interface TaskLimits extends DeliveryLimits {
  attemptsMax: number;
  channelWaitsMax: number;
  heartbeatTimeoutMs: number;
}

export interface DeliveryLimits {
  /** Turns of the delivery loop: tries, and looks at a try that somebody else has claimed. */
  deliveryTurnsMax: number;
  /** The lease of one try: when it is over, whoever made the try is gone. */
  deliveryTryMs: number;
}

export interface RedeliveryInput {
  deliveryId: string;
  limits: DeliveryLimits;
}

export interface JobInput {
  name: JobName;
  /** A worker that is silent for so long has died, and its run is begun again elsewhere. */
  heartbeatTimeoutMs: number;
}

export interface ChannelDraw {
  channels: { id: string; name: string }[];
  /** When no channel is open: how long until the first opens again; null when none ever will. */
  waitMs: number | null;
  /** Some channel that could serve is left out only because it is closed just now. */
  moreLater: boolean;
}

export interface AttemptInput {
  taskId: string;
  channelId: string;
}

/** `skipped`: the channel is no longer open, no call was made. `over`: the task has ended meanwhile. */
export type AttemptReport =
  | { kind: AttemptOutcome; code: TaskErrorCode | null }
  | { kind: 'skipped' }
  | { kind: 'over' }
  | { kind: 'deadline' }
  | { kind: 'canceled' };

/** How a task ends, as the story tells it. */
export type TaskOutcome =
  { kind: 'succeeded' } | { kind: 'failed'; code: TaskErrorCode; unknown: boolean } | { kind: 'canceled' };

export interface FinishInput {
  taskId: string;
  outcome: TaskOutcome;
}

export interface FinishReport {
  status: string;
  /** The callback to deliver, if the task has one. */
  deliveryId: string | null;
}

/** After one turn of a delivery: nothing more to do, or how long until the next is due. */
export interface DeliveryReport {
  over: boolean;
  waitMs: number;
}

/** One static line for the Temporal UI, such as "video veo-3.1 8s 1080p". */
export function taskSummary(type: TaskType, modelId: string, input: Readonly<Record<string, unknown>> | null): string {
  const word = (value: unknown, unit = '') =>
    typeof value === 'string' || typeof value === 'number' ? ` ${value}${unit}` : '';
  return `${type} ${modelId}${word(input?.['duration'], 's')}${word(input?.['resolution'])}${word(input?.['img_size'])}`.slice(
    0,
    200,
  );
}
