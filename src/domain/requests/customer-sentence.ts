import { sentenceOf, type ChatEndReason, chatEndReasons } from '../chat/chat-end-reason.ts';
import { taskErrorTable, type TaskErrorCode } from '../tasks/task.ts';

export interface EndedRequest {
  id: string;
  noun: 'chat' | 'image' | 'video';
  model: string;
  /** Unix seconds. */
  startedAt: number;
  isRunning: boolean;
  reason: ChatEndReason | TaskErrorCode | null;
  charged: number;
}

/** What a customer may be told about a request, in one sentence that names no channel and no provider. */
export function customerSentence({ id, noun, model, startedAt, isRunning, reason, charged }: EndedRequest): string {
  const at = new Date(startedAt * 1_000).toISOString().slice(0, 19).replace('T', ' ');
  const about = `Your ${noun} request ${id} to ${model} of ${at} UTC`;
  const cost = charged === 0 ? 'cost nothing' : `cost ${charged} ${charged === 1 ? 'credit' : 'credits'}`;
  if (isRunning) return `${about} is still running.`;
  if (reason === null) return `${about} succeeded and ${cost}.`;
  const why = (isChatReason(reason) ? sentenceOf(reason) : taskErrorTable[reason].message).replace(/\.$/, '');
  return `${about} ended early and ${cost}: ${why.charAt(0).toLowerCase()}${why.slice(1)} (${reason}).`;
}

const isChatReason = (reason: EndedRequest['reason']): reason is ChatEndReason =>
  chatEndReasons.some((each) => each === reason);
