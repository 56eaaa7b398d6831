import type { ChannelRow } from '../../db/channels/channels.ts';
import type { ChatReply } from '../../domain/chat/chat.ts';
import { refundReasonOf, type RefundReason } from '../../domain/chat/chat-end-reason.ts';
import { GatewayError } from '../../domain/errors.ts';
import { thinksFirst } from '../../domain/chat/reasoning.ts';
import { cleanedSentence, sharedParam } from '../../domain/chat/reported-refusal.ts';
import type { Attempt } from '../../domain/channels/upstream.ts';
import { crashPoint } from '../../platform/crash-point.ts';
import { admitChat } from './admit-chat.ts';
import { askForLong, askForWhole, type AskChannel } from './ask-channel.ts';
import type { ChatAnswered, ChatDeps, ChatInput } from './chat-input.ts';
import { refundChat, refundOnError } from './refund-chat.ts';
import { drawChatChannels, endingOf, tryChatChannels, type ChannelAttempt, type Progress } from './route-chat.ts';
import { billChat, settleChat } from './settle-chat.ts';

/**
 * Serves one chat. One database call reserves the credits and writes the first attempt's row, then the channels are called, and
 * one database call settles. The answer is returned only after the settlement has committed. Throws a `GatewayError` if the chat
 * fails; its hold is refunded then, at the latest when it expires.
 */
export async function completeChat(
  deps: ChatDeps,
  input: ChatInput,
): Promise<{ body: string; answered: ChatAnswered } | 'replay'> {
  if (!mayTakeLong(input)) return complete(deps, input, askForWhole(deps.config.chat));
  const live = deps.liveChats.add(input.requestId, () => undefined);
  try {
    return await complete(deps, input, askForLong(deps.config.chat));
  } finally {
    live.remove();
  }
}

/**
 * Whether an answer may take longer than providers and proxies keep a silent connection open: a long one, and one that the model thinks
 * about, which is silent before its first word.
 */
export const mayTakeLong = ({ prepared: { entry, request } }: Pick<ChatInput, 'prepared'>): boolean =>
  request.maxTokens > SHORT_ANSWER_MAX_TOKENS || thinksFirst(request, entry.private.max_tokens);
const SHORT_ANSWER_MAX_TOKENS = 1_024;

async function complete(
  deps: ChatDeps,
  input: ChatInput,
  ask: AskChannel<ChatReply>,
): Promise<{ body: string; answered: ChatAnswered } | 'replay'> {
  const obtained = await obtainAnswer(deps, input, ask);
  if (obtained === 'replay') return 'replay';
  const { attempted, progress, answer } = obtained;
  const { end, sale, ...billed } = await endingCall(deps, attempted.attemptId, () =>
    refundOnError(deps, input, progress, () => billChat(deps, input, attempted, answer)),
  );
  await input.keepIfLost?.(billed.body, billed.answered);
  crashPoint('chat_after_upstream_before_settle');
  await settleChat(deps, end, sale);
  return billed;
}

/** Ends the call of a limited channel when its answer was billed or failed, before the client learns of it and sends its next request. */
export async function endingCall<T extends { end: { inputTokens: number | null; outputTokens: number | null } }>(
  { channels }: Pick<ChatDeps, 'channels'>,
  attemptId: string,
  work: () => Promise<T>,
): Promise<T> {
  let tokens: number | null = null;
  try {
    const billed = await work();
    tokens = (billed.end.inputTokens ?? 0) + (billed.end.outputTokens ?? 0);
    return billed;
  } finally {
    await channels.calls.end(attemptId, tokens);
  }
}

/** An answer, or the beginning of one, whose credits are still held. */
export interface Obtained<Answer> {
  attempted: ChannelAttempt<Answer>;
  answer: Answer;
  progress: Progress;
}

/** Holds the credits and calls the channels. If no channel answers, the hold is refunded and the client's error is thrown. */
export async function obtainAnswer<Answer>(
  deps: ChatDeps,
  input: ChatInput,
  ask: AskChannel<Answer>,
): Promise<Obtained<Answer> | 'replay'> {
  const deadline = performance.now() + deps.config.chat.deadlineSeconds * 1000;
  const order = await drawChatChannels(deps, input);
  const progress = await admitChat(deps, input, order[0]);
  if (progress === 'replay') return 'replay';
  const attempted = await refundOnError(deps, input, progress, () =>
    tryChatChannels(deps, input, order, progress, { ask, deadline }),
  ).catch(async (error: unknown) => {
    await deps.channels.calls.end(progress.attemptId, null);
    throw error;
  });
  if (attempted.attempt.kind === 'ok') return { attempted, answer: attempted.attempt.value, progress };
  const { attempt, channel } = attempted;
  await refundChat(deps, reasonOf(input, attempt), {
    requestId: input.requestId,
    channelId: channel.id,
    attempt: endingOf(attempted.attemptId, attempt),
  });
  throw chatRefusal(input, attempt, channel);
}

/** A call that was ended because its client left, or because this process stops, failed for that reason. */
const reasonOf = ({ gone, whyGone }: ChatInput, attempt: Exclude<Attempt<unknown>, { kind: 'ok' }>): RefundReason =>
  gone?.aborted && attempt.kind === 'transient' && whyGone ? whyGone() : refundReasonOf(attempt);

/** The client's error for the last failed attempt. Routes of the specification tell no words of providers, as they never did. */
const chatRefusal = (
  input: ChatInput,
  attempt: Exclude<Attempt<unknown>, { kind: 'ok' }>,
  channel: ChannelRow,
): GatewayError => attemptRefusal(attempt, input.prepared.request.isOfSpec ? undefined : namesOf(input, channel));

/** What must not stand in a message to the client, and the client's name of the model. */
const namesOf = ({ prepared: { entry, request } }: ChatInput, { adapter, baseUrl }: ChannelRow): UpstreamNames => ({
  model: request.model,
  upstreamModel: entry.private.upstream[adapter]?.model ?? entry.model.id,
  host: URL.parse(baseUrl)?.host ?? '',
});
type UpstreamNames = Parameters<typeof cleanedSentence>[1];

/** The client's error for the last failed attempt. It never shows an upstream's name, or its 401, 402 or 404. */
function attemptRefusal(attempt: Exclude<Attempt<unknown>, { kind: 'ok' }>, names?: UpstreamNames): GatewayError {
  if (attempt.kind === 'refused') {
    const { reported, clientCode = 'invalid_value' } = attempt;
    if (!reported || !names) return new GatewayError(clientCode);
    const message = cleanedSentence(reported.message, names) ?? undefined;
    return new GatewayError(clientCode, { message, param: sharedParam(reported) });
  }
  if (attempt.errorClass === 'rate_limit') {
    const retryAfterSeconds = attempt.kind === 'transient' ? attempt.retryAfterSeconds : undefined;
    return new GatewayError('no_channel_available', { retryAfterSeconds: retryAfterSeconds ?? 5 });
  }
  if (attempt.errorClass === 'interrupted' || attempt.errorClass === 'deadline')
    return new GatewayError('upstream_timeout');
  return new GatewayError('upstream_error');
}
