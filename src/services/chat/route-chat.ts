import { firstAttemptId, type AttemptEnding } from '../../db/chat/chat-ledger.ts';
import type { ChannelRow } from '../../db/channels/channels.ts';
import type { DeliveredText } from '../../domain/chat/delivered-text.ts';
import { conversationOf } from '../../domain/chat/conversation.ts';
import { GatewayError } from '../../domain/errors.ts';
import { CREDENTIALS_MAX, isOfCredential } from '../../domain/channels/draw-credential.ts';
import { ATTEMPTS_MAX, drawOrder, firstToRecover, listServing } from '../../domain/channels/routing.ts';
import type { Attempt } from '../../domain/channels/upstream.ts';
import { nameOfText, unitHash } from '../../platform/crypto/hash.ts';
import { newId } from '../../platform/crypto/ids.ts';
import { isCallable, unreadableCredentials } from '../channels/unseal-credential.ts';
import { callChannel, type AskChannel } from './ask-channel.ts';
import type { ChatDeps, ChatInput } from './chat-input.ts';

/** The channels to try. The first one is claimed. */
export type ChannelOrder = [ChannelRow, ...ChannelRow[]];

/**
 * Draws the channels and claims the first. The turns of one conversation draw the same order, so that they find the caches of their provider
 * warm, unless the model's `session_affinity` is false (rules "Routing"). If the circuit breakers of all are tripped, the one that recovers
 * first is tried anyway. If all cool down or are at a limit, the answer is 503 with the time until the first is available (rules "Routing"). A
 * channel whose credentials cannot be decrypted is left out, so that it costs no attempt.
 */
export async function drawChatChannels(
  deps: ChatDeps,
  {
    requestId,
    prepared: { entry, families, request, hold },
    key: { projectId },
    sessionId,
  }: Pick<ChatInput, 'requestId' | 'prepared' | 'key' | 'sessionId'>,
): Promise<ChannelOrder> {
  const { channels: listed, nowMs } = await deps.channels.list();
  const wanted = {
    modelId: entry.model.id,
    groups: entry.private.groups,
    families,
    attemptedIds: new Set<string>(),
    nowMs,
  };
  const channels = listServing(listed, wanted).filter((channel) => isCallable(deps, channel));
  const conversation = () => [projectId, entry.model.id, conversationOf(request, { sessionId })].join('\n');
  const isSpread = entry.private.session_affinity === false || channels.length < 2;
  const random = isSpread ? Math.random : numbersOf(conversation());
  const { order, availableAtMs } = drawOrder(channels, wanted, random);
  const call = {
    modelId: entry.model.id,
    projectId,
    counted: { callId: firstAttemptId(requestId), tokens: hold.likelyInputTokens },
  };
  for (const [index, channel] of order.entries()) {
    const claimed = await deps.channels.claim(channel, { ...call, without: unreadableCredentials(deps, channel) });
    if (claimed) return [claimed, ...order.slice(index + 1)];
  }
  const lastResort = firstToRecover(channels, wanted);
  const last =
    lastResort &&
    (await deps.channels.claimTripped(lastResort, { ...call, without: unreadableCredentials(deps, lastResort) }));
  if (last) return [last];
  const waits = [
    ...(availableAtMs === null ? [] : [availableAtMs - nowMs]),
    ...channels.map(({ id }) => deps.channels.calls.fullForMs(id)).filter((ms) => ms !== null),
  ];
  const retryAfterSeconds = waits.length === 0 ? 30 : Math.max(1, Math.ceil(Math.min(...waits) / 1000));
  throw new GatewayError('no_channel_available', { retryAfterSeconds });
}

/** Ends the claim of a channel for a call that is not sent. Never rejects. */
export async function giveClaimBack(
  { channels }: Pick<ChatDeps, 'channels'>,
  channel: ChannelRow,
  { modelId, attemptId }: { modelId: string; attemptId: string },
): Promise<void> {
  await Promise.all([channels.release(channel, modelId), channels.calls.undo(attemptId)]);
}

/** For each channel a number in [0, 1) that is the same in every turn of a conversation, and on every process. */
function numbersOf(conversation: string): (channel: ChannelRow) => number {
  // Hashed once, so that each further channel hashes a short text.
  const name = nameOfText(conversation);
  return ({ id }) => unitHash(`${name} ${id}`);
}

/** The latest attempt, and its outcome once it has ended. */
export interface Progress {
  attemptId: string;
  channelId: string;
  attempt: Attempt<unknown> | null;
  /** What the client has received, if the answer is passed on as it comes. */
  delivered?: DeliveredText;
}

export interface ChannelAttempt<Answer> {
  attempt: Attempt<Answer>;
  attemptId: string;
  channel: ChannelRow;
  attempts: number;
  /** Notes another outcome of the same call, of an answer that broke off after it began. */
  note: (attempt: Attempt<unknown>) => void;
}

/** Calls one channel after another until one answers, or until the deadline, the retry budget or the attempt limit stops it. */
export async function tryChatChannels<Answer>(
  deps: ChatDeps,
  input: ChatInput,
  [first, ...others]: ChannelOrder,
  progress: Progress,
  { ask, deadline }: { ask: AskChannel<Answer>; deadline: number },
): Promise<ChannelAttempt<Answer>> {
  const { config, channels } = deps;
  const modelId = input.prepared.entry.model.id;
  const { projectId } = input.key;
  let interrupted = 0;
  const tryChannel = async (channel: ChannelRow, attempts: number): Promise<ChannelAttempt<Answer>> => {
    const call = { modelId, projectId, startedAt: performance.now() };
    // Not awaited, so that the client does not wait for these writes.
    void channels.begin(channel, call);
    const attempt = await callChannel(deps, input, channel, { ask, deadline });
    const note = (outcome: Attempt<unknown>): void => void channels.note(channel, call, outcome);
    // A call that was ended because its client left says nothing about the channel.
    if (input.gone?.aborted) void channels.release(channel, modelId);
    else {
      const ms = performance.now() - call.startedAt;
      note(attempt);
      channels.count(channel.id, { outcome: attempt.kind, ms });
      deps.metrics.upstreamCalled({
        channel: channel.name,
        model: modelId,
        operation: input.gone ? 'chat_stream' : 'chat',
        outcome: attempt.kind,
        ms,
      });
    }
    progress.attempt = attempt;
    if (attempt.kind !== 'ok') await channels.calls.end(progress.attemptId, null);
    if (attempt.kind === 'transient' && attempt.errorClass === 'interrupted') interrupted += 1;
    return { attempt, attemptId: progress.attemptId, channel, attempts, note };
  };
  const tokens = input.prepared.hold.likelyInputTokens;
  const next = createNextChannel(deps, { modelId, projectId, tokens }, others);
  let last = await tryChannel(first, 1);
  // Another credential of a channel is no further channel, and its provider has bought nothing.
  let extra = 0;
  for (;;) {
    if (last.attempt.kind !== 'transient' || input.gone?.aborted) return last;
    // The upstream may have billed a call that broke off after its body was sent: only one such call is tried again.
    if (interrupted > 1) return last;
    if (deadline - performance.now() < config.chat.attemptLeftMinSeconds * 1000) return last;
    const isLimitReached = last.attempts - extra >= ATTEMPTS_MAX;
    const chosen = await next.after(last, isLimitReached);
    if (!chosen) return last;
    const { channel, isSame, attemptId } = chosen;
    const isAllowed = isSame || deps.retryBudget.take(projectId);
    const beginning = isAllowed ? beginNext(deps, input, last, chosen) : Promise.resolve(false);
    const isBegun = await beginning.catch((error: unknown) => {
      // Not awaited, as in `admitChat`.
      void giveClaimBack(deps, channel, { modelId, attemptId });
      throw error;
    });
    if (!isBegun) {
      await giveClaimBack(deps, channel, { modelId, attemptId });
      return last;
    }
    if (isSame) extra += 1;
    progress.attemptId = attemptId;
    progress.channelId = channel.id;
    progress.attempt = null;
    last = await tryChannel(channel, last.attempts + 1);
  }
}

interface NextChannel {
  /** Claimed for this attempt. */
  channel: ChannelRow;
  attemptId: string;
  /** The channel that was called last, with another credential. */
  isSame: boolean;
}

/**
 * Chooses the channel after a failed one, or null if there is none: the same with another credential, if the failure was of the credential,
 * else the next of the order that may be called. A credential that failed is not sent again for this chat.
 */
function createNextChannel(
  deps: ChatDeps,
  { tokens, ...call }: { modelId: string; projectId: string; tokens: number },
  others: readonly ChannelRow[],
): { after(last: ChannelAttempt<unknown>, isLimitReached: boolean): Promise<NextChannel | null> } {
  const failed = new Set<string>();
  let index = 0;
  const claim = async (drawn: ChannelRow, isSame: boolean): Promise<NextChannel | null> => {
    const attemptId = newId('att');
    const without = new Set([...failed, ...unreadableCredentials(deps, drawn)]);
    const counted = { callId: attemptId, tokens };
    const channel = await deps.channels.claim(drawn, { ...call, without, counted });
    return channel && { channel, attemptId, isSame };
  };
  return {
    async after({ attempt, channel }, isLimitReached) {
      if (channel.credentials.length > 1 && isOfCredential(attempt)) {
        failed.add(channel.credential.id);
        const again = failed.size < CREDENTIALS_MAX ? await claim(channel, true) : null;
        if (again) return again;
      }
      while (!isLimitReached && index < others.length) {
        const drawn = others[index++];
        const claimed = drawn && (await claim(drawn, false));
        if (claimed) return claimed;
      }
      return null;
    },
  };
}

const beginNext = (
  deps: ChatDeps,
  { requestId }: ChatInput,
  last: ChannelAttempt<unknown>,
  { channel, isSame, attemptId }: NextChannel,
) =>
  deps.chatLedger.nextAttempt({
    requestId,
    attemptId,
    n: last.attempts + 1,
    ended: endingOf(last.attemptId, last.attempt),
    channelId: channel.id,
    channelName: channel.name,
    isSame,
  });

/** The outcome of an attempt as its row stores it. */
export function endingOf(attemptId: string, attempt: Attempt<unknown>): AttemptEnding {
  if (attempt.kind === 'ok') return { attemptId, outcome: 'ok', errorClass: null, status: null, detail: null };
  const { kind, errorClass, status, detail } = attempt;
  return { attemptId, outcome: kind, errorClass, status: status ?? null, detail };
}
