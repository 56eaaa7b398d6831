import { sentenceOf, type ChatEndReason, chatEndReasons } from '../chat/chat-end-reason.ts';
import { errorTable, type ErrorCode } from '../errors.ts';
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

type Reason = ChatEndReason | TaskErrorCode | ErrorCode;

/** What a customer may be told about a request, in one sentence that names no channel and no provider. */
export function customerSentence({ noun, isRunning, reason, charged, ...request }: EndedRequest): string {
  const about = aboutOf({ noun: `${noun} request`, ...request });
  const cost = charged === 0 ? 'cost nothing' : `cost ${charged} ${charged === 1 ? 'credit' : 'credits'}`;
  if (isRunning) return `${about} is still running.`;
  return reason === null ? `${about} succeeded and ${cost}.` : `${about} ended early and ${cost}: ${whyOf(reason)}.`;
}

/** The same about a request that was answered before any credits were held, with an error or without one. */
export function refusalSentence({
  errorCode,
  status,
  ...request
}: Pick<EndedRequest, 'id' | 'startedAt'> & {
  model: string | null;
  errorCode: ErrorCode | null;
  status: number;
}): string {
  const about = aboutOf({ noun: 'request', ...request });
  if (status < 400) return `${about} was answered and cost nothing.`;
  return `${about} was refused and cost nothing: ${errorCode === null ? `it was answered with the status ${status}` : whyOf(errorCode)}.`;
}

function aboutOf({
  noun,
  id,
  model,
  startedAt,
}: {
  noun: string;
  id: string;
  model: string | null;
  startedAt: number;
}): string {
  const at = new Date(startedAt * 1_000).toISOString().slice(0, 19).replace('T', ' ');
  return `Your ${noun} ${id}${model === null ? '' : ` to ${model}`} of ${at} UTC`;
}

/** The reason in the middle of a sentence, with its code behind it. */
function whyOf(reason: Reason): string {
  const why = (customerWords[reason] ?? operatorWords(reason)).replace(/\.$/, '');
  return `${/^[A-Z][a-z' ]/.test(why) ? why.charAt(0).toLowerCase() + why.slice(1) : why} (${reason})`;
}

const operatorWords = (reason: Reason): string =>
  isChatReason(reason)
    ? sentenceOf(reason)
    : isTaskError(reason)
      ? taskErrorTable[reason].message
      : errorTable[reason].message;

/** Where the sentence for operators speaks of how the gateway is made. */
const customerWords: Partial<Record<Reason, string>> = {
  upstream_rate_limited: 'The model had too many requests at that moment, so the same request may succeed now.',
  upstream_unreachable: 'The model could not be reached at that moment.',
  upstream_interrupted: 'The answer of the model broke off before it ended.',
  client_left: 'Your client closed its connection before the answer ended.',
  gateway_stopped: 'Our server was restarted before the answer ended.',
  internal_error: 'Something went wrong on our side.',
  hold_expired: 'Our server could not end the request in time.',
  admitted_late: 'Our server was too busy and had answered with an error before.',
  not_delivered: 'Our server could not deliver the answer.',
  no_channel_available: 'The model was not available at that moment.',
};

const isChatReason = (reason: Reason): reason is ChatEndReason => chatEndReasons.some((each) => each === reason);
const isTaskError = (reason: Reason): reason is TaskErrorCode => Object.hasOwn(taskErrorTable, reason);
