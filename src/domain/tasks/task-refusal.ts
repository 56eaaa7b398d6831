import { GatewayError, type ErrorCode } from '../errors.ts';
import { taskErrorTable, type TaskErrorCode } from './task.ts';

/**
 * Turns a task that did not succeed into the refusal of the request that waited for it. `mayRetry` is false if the same request
 * would only get the same task again.
 */
export function taskRefusal(task: { id: string; errorCode: TaskErrorCode | null }, mayRetry: boolean): GatewayError {
  const errorCode = task.errorCode ?? 'canceled';
  const { message, retryable } = taskErrorTable[errorCode];
  const shouldRetry = mayRetry && retryable ? undefined : false;
  return new GatewayError(refusalCodes[errorCode], { message, shouldRetry, taskId: task.id });
}

const refusalCodes = {
  upstream_failed: 'upstream_error',
  upstream_invalid_response: 'upstream_error',
  upstream_outcome_unknown: 'upstream_error',
  output_unavailable: 'upstream_error',
  task_timeout: 'upstream_timeout',
  content_policy_violation: 'content_policy_violation',
  no_channel_available: 'no_channel_available',
  canceled: 'task_canceled',
} satisfies Record<TaskErrorCode, ErrorCode>;
