import type { ChatEndReason } from '../../domain/chat/chat-end-reason.ts';
import type { TaskErrorCode, TaskType } from '../../domain/tasks/task.ts';
import { chatOutcomes, type ChatView } from '../chat/chats.ts';

/** A chat or a media task whose credits were held. */
export interface RequestView extends Omit<ChatView, 'reason'> {
  /** Null if the task's row was deleted and its model is not in the catalog any more. */
  type: 'chat' | TaskType | null;
  /** Null for a chat. `requestId` is the same then; for a task it is the id of its create, or of the task once that is not known any more. */
  taskId: string | null;
  projectName: string;
  keyName: string;
  reason: ChatEndReason | TaskErrorCode | null;
}

/**
 * The outcomes of requests; the parts of those that were refunded: the provider refused the request itself, or something else failed; and those
 * whose client left or canceled, charged or not.
 */
export const filteredOutcomes = [...chatOutcomes, 'refused', 'left', 'failed'] as const;

export interface RequestFilter {
  projectId?: string | undefined;
  keyId?: string | undefined;
  modelId?: string | undefined;
  /** The name or the id of a channel that was called. */
  channel?: string | undefined;
  outcome?: (typeof filteredOutcomes)[number] | undefined;
  reason?: RequestView['reason'] | undefined;
  type?: 'chat' | TaskType | undefined;
  /** Unix seconds: requests that began at this time or later. */
  createdFrom?: number | undefined;
  /** Unix seconds: requests that began earlier. */
  createdBefore?: number | undefined;
  /** Requests that took, or have run for, so many milliseconds or more. */
  minMs?: number | undefined;
  /** Requests that were charged so many credits or more. */
  minCredits?: number | undefined;
}
