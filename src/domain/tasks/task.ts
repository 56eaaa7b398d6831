import type { JsonObject } from '../json.ts';

export const taskTypes = ['image', 'video'] as const;
export type TaskType = (typeof taskTypes)[number];

export const runningStatuses = ['queued', 'processing'] as const;
export const endedStatuses = ['succeeded', 'failed', 'canceled'] as const;
export const taskStatuses = [...runningStatuses, ...endedStatuses] as const;
export type TaskStatus = (typeof taskStatuses)[number];

/** Whether a task has ended. An ended task never changes again. */
export const isTerminal = (status: TaskStatus): boolean => status !== 'queued' && status !== 'processing';

/** Why a task did not succeed. `retryable` tells the client whether the same request may succeed later. */
export const taskErrorTable = {
  upstream_failed: { retryable: true, message: 'The upstream provider could not complete the job.' },
  upstream_invalid_response: {
    retryable: true,
    message: 'The upstream provider returned a result that cannot be used.',
  },
  upstream_outcome_unknown: {
    retryable: true,
    message: 'It is unknown whether the upstream provider accepted the job. Nothing was charged.',
  },
  task_timeout: { retryable: true, message: 'The task did not finish before its deadline.' },
  content_policy_violation: { retryable: false, message: "The provider's content policy refused the request." },
  no_channel_available: { retryable: true, message: 'No upstream channel could take the task.' },
  output_unavailable: { retryable: true, message: 'The result could not be fetched from the upstream provider.' },
  canceled: { retryable: false, message: 'The task was canceled.' },
} as const satisfies Record<string, { retryable: boolean; message: string }>;
export type TaskErrorCode = keyof typeof taskErrorTable;

/** The error of a task. Throws for the code of a later release, rather than show a failed task without an error. */
export function taskErrorOf(code: TaskErrorCode) {
  const { message, retryable } = taskErrorTable[code];
  return { code, message, retryable };
}

/** The resolved request, defaults included. Exactly this is priced, stored and sent upstream. */
export interface ResolvedInput extends JsonObject {
  prompt: string;
}
