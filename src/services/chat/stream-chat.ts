import { ChatStreamBroken, type TakePieces } from '../../adapters/channel.ts';
import type { ChatReply, ChatUsage } from '../../domain/chat/chat.ts';
import { cutReasonOf, type ChargeReason } from '../../domain/chat/chat-end-reason.ts';
import { isContent, ReplyCollector } from '../../domain/chat/chat-stream.ts';
import { DeliveredText } from '../../domain/chat/delivered-text.ts';
import { GatewayError, type ErrorCode } from '../../domain/errors.ts';
import { thinksFirst } from '../../domain/chat/reasoning.ts';
import { crashPoint } from '../../platform/crash-point.ts';
import { askForStream, carriedTo, type OpenedStream } from './ask-channel.ts';
import type { ChatAnswered, ChatDeps, ChatInput } from './chat-input.ts';
import { endingCall, obtainAnswer, type Obtained } from './complete-chat.ts';
import { refundOnError } from './refund-chat.ts';
import { billChat, settleChat } from './settle-chat.ts';

/** Who reads a streamed answer. */
export interface ChatReader {
  /**
   * A provider begins to answer, without these fields of the request (`ChatAnswered.leftOut`) and with these counts if it has some already. Called
   * once, before the first piece.
   */
  begins?(leftOut: readonly string[], counted: ChatUsage | undefined): void;
  /** Takes the next pieces of content. */
  take: TakePieces;
  /** Fires when the client is gone. */
  gone: AbortSignal;
}

export interface StreamedChat {
  answered: ChatAnswered;
  /** The error with which the answer ends, if it broke off. The delivered part was charged. */
  broken: GatewayError | null;
}

/**
 * Serves one chat whose answer is passed on as it arrives. The credits are held first, and settled when the answer ends: by the provider's
 * counts, or by an estimate of what was generated, never above the hold. An answer that breaks off, and one whose reader leaves, is charged as
 * far as it was generated (`ReadOn` decides how far it is read on for its counts). With nothing generated it costs nothing, and a key whose
 * clients leave so too often is refused with 429. Until the first content, a failure moves on to another channel. Throws a `GatewayError` if no
 * channel answers or if the settlement cannot be written. Resolves after the settlement, so that the end of the answer is sent only then, or
 * with `replay` if an earlier request with the same Idempotency-Key was answered.
 */
export async function streamChat(
  deps: ChatDeps,
  input: ChatInput,
  reader: ChatReader,
): Promise<StreamedChat | 'replay'> {
  const startedAt = performance.now();
  const interrupted = new AbortController();
  const live = deps.liveChats.add(input.requestId, () => interrupted.abort());
  const gone = AbortSignal.any([reader.gone, interrupted.signal]);
  const whyGone = () => (interrupted.signal.aborted ? 'gateway_stopped' : 'client_left');
  try {
    deps.earlyHangUps.check(input.key.keyId);
    const { entry, request } = input.prepared;
    const isThinking = thinksFirst(request, entry.private.max_tokens);
    const streamEnds = { left: reader.gone, interrupted: interrupted.signal, isThinking };
    const asking = obtainAnswer(deps, { ...input, gone, whyGone }, askForStream(deps.config.chat, streamEnds));
    const obtained = await asking.catch((error: unknown) => {
      if (reader.gone.aborted) deps.earlyHangUps.note(input.key.keyId);
      throw error;
    });
    if (obtained === 'replay') return 'replay';
    const { attempted } = obtained;
    const counted = obtained.answer.first.findLast((piece) => piece.kind === 'usage')?.usage;
    reader.begins?.(carriedTo(deps, input.prepared, attempted.channel.adapter).leftOut, counted);
    deps.metrics.firstTokenSent({
      model: entry.model.id,
      channel: attempted.channel.name,
      ms: performance.now() - startedAt,
    });
    const delivered = (obtained.progress.delivered = new DeliveredText());
    const { end, sale, answered, broken } = await endingCall(deps, attempted.attemptId, () =>
      refundOnError(deps, input, obtained.progress, async () => {
        const { reply, broken: error, reason } = await relay(obtained, { reader, delivered }, interrupted.signal);
        if (error) logBroken(deps, input, obtained, error);
        const streamed = { broken: error, reason, delivered };
        return { ...(await billChat(deps, storable(deps, input), attempted, reply, streamed)), broken: error };
      }),
    );
    crashPoint('chat_after_upstream_before_settle');
    await settleChat(deps, end, sale);
    return { answered, broken };
  } finally {
    live.remove();
  }
}

/** How far an answer got that was passed on. */
interface Relayed {
  reply: ChatReply;
  /** The error with which it ends, if it broke off. */
  broken: GatewayError | null;
  /** Why the client did not receive all of it, if it did not. */
  reason: ChargeReason | null;
}

/** Passes the content on until the answer ends, for whatever reason. */
async function relay(
  { attempted, answer: stream }: Obtained<OpenedStream>,
  { reader, delivered }: { reader: ChatReader; delivered: DeliveredText },
  interrupted: AbortSignal,
): Promise<Relayed> {
  const collector = new ReplyCollector();
  const readOn = stream.follow(collector);
  let hasMissedContent = false;
  const pass: TakePieces = (pieces) => {
    const content = pieces.filter(isContent);
    const caughtUp = content.length > 0 ? reader.take(content) : undefined;
    // After `take`, because what the reader cannot take was not delivered.
    delivered.add(pieces, !reader.gone.aborted);
    hasMissedContent ||= content.length > 0 && reader.gone.aborted;
    collector.add(pieces);
    readOn.heard(pieces);
    return caughtUp;
  };
  const wholeAnswer = (): Relayed => ({
    reply: collector.reply(),
    broken: null,
    reason: hasMissedContent ? 'client_left' : null,
  });
  try {
    await pass(stream.first);
    await stream.rest(pass);
  } catch (error) {
    if (!(error instanceof ChatStreamBroken)) {
      // What came before the error was delivered and is charged.
      const broken = new GatewayError('internal_error', { cause: error, shouldRetry: false });
      return { reply: collector.reply(), broken, reason: 'internal_error' };
    }
    // Only the counts may be missing after the provider has finished its answer.
    if (collector.isFinished) return wholeAnswer();
    const endedBy = { isStopping: interrupted.aborted, isLeft: reader.gone.aborted, isOverdue: stream.isOverdue() };
    // A provider may close a connection that a slow client keeps it waiting on.
    const isProvidersFault = !Object.values(endedBy).includes(true) && !stream.wasHeldBack();
    if (isProvidersFault) attempted.note(error.attempt);
    return { reply: collector.reply(), ...endOf(error, endedBy) };
  } finally {
    stream.stop();
  }
  return wholeAnswer();
}

/** The input with a `render` that cannot fail: the answer was delivered already, and only its replay is lost. */
function storable({ logger }: ChatDeps, input: ChatInput): ChatInput {
  const unwritten = '';
  return {
    ...input,
    render: (answered, broken) => {
      try {
        return input.render(answered, broken);
      } catch (error) {
        logger.error({ err: error, request_id: input.requestId }, 'a streamed answer cannot be stored for replays');
        return { body: unwritten };
      }
    },
    sealAnswer: (body, answered) => (body === unwritten ? null : input.sealAnswer(body, answered)),
  };
}

/**
 * The client's error for an answer that broke off, and the reason on its ledger entry. A repetition would be charged again, so official
 * clients should not repeat it.
 */
function endOf(
  { attempt }: ChatStreamBroken,
  { isStopping, isLeft, isOverdue }: { isStopping: boolean; isLeft: boolean; isOverdue: boolean },
): Pick<Relayed, 'broken' | 'reason'> {
  const finalError = (code: ErrorCode): GatewayError => new GatewayError(code, { shouldRetry: false });
  if (isStopping) return { broken: finalError('service_unavailable'), reason: 'gateway_stopped' };
  const isTimeout = isOverdue || attempt.timedOut !== undefined;
  const reason = isLeft ? 'client_left' : isOverdue ? 'upstream_timeout' : cutReasonOf(attempt);
  return { broken: finalError(isTimeout ? 'upstream_timeout' : 'upstream_error'), reason };
}

function logBroken(
  { logger }: ChatDeps,
  { requestId }: ChatInput,
  { attempted }: Obtained<unknown>,
  broken: GatewayError,
): void {
  const about = { request_id: requestId, channel: attempted.channel.name, code: broken.code };
  if (broken.code === 'internal_error')
    logger.error({ ...about, err: broken.cause }, 'a streamed answer could not be passed on');
  else logger.info(about, 'a streamed answer broke off');
}
