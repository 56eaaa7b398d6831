import type { RefundReason } from '../../../src/domain/chat/chat-end-reason.ts';
import type { TaskErrorCode } from '../../../src/domain/tasks/task.ts';

/**
 * The reasons of refunds by which the provider refused the request itself: as invalid, as too long, or by its content policy. Nothing failed then.
 * `is_refusal.sql` has the same.
 */
export const refusalReasons = [
  'request_refused',
  'content_policy_violation',
  'context_length_exceeded',
] as const satisfies readonly (RefundReason | TaskErrorCode)[];
