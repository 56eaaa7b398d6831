import { ChatStreamBroken, type TakePieces } from '../../channels/channel.ts';
import { isContent, ReplyCollector } from '../../domain/chat-stream.ts';
import { DeliveredText } from '../../domain/delivered-text.ts';
import { GatewayError } from '../../domain/errors.ts';
import { thinksFirst } from '../../domain/reasoning.ts';
import { crashPoint } from '../../platform/crash-point.ts';
import { carriedTo } from './carried-to.ts';
import { askForStream, type OpenedStream } from './ask-channel.ts';
import { obtainAnswer, type Obtained } from './complete-chat.ts';
import type { ChatAnswered, ChatDeps, ChatInput } from './prepare-chat.ts';
import { billChat, refundOnError, settleChat } from './settle-chat.ts';

/** Who reads a streamed answer. */
export interface ChatReader {
  /** A provider begins to answer, without these fields of the request (`ChatAnswered.leftOut`). Called once, before the first piece. */
  begins?(leftOut: readonly string[]): void;
  /** Takes the next pieces of content. */
  take: TakePieces;
  /** Fires when nobody reads any more. */
  gone: AbortSignal;
}

export interface StreamedChat {
  answered: ChatAnswered;
  /** The error with which the answer ends, if it broke off. What there is of it was charged. */
  broken: GatewayError | null;
}

/**
 * Serves one chat whose answer is passed on as it arrives. The credits are held first, and settled when the answer ends: by the
 * provider's counts, or by an estimate of what was generated, never above the hold. An answer that breaks off, and one whose reader
 * leaves, is charged as far as it was generated; with nothing generated it costs nothing, and a key whose clients leave so too often is
 * refused with 429. How far the answer is read on for its counts, `ReadOn` says. Until the first content another channel is tried, and a failure throws a `GatewayError`, as it does
 * if the settlement cannot be written. Resolves after the settlement, so that the end of the answer is sent only then.
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
  try {
    deps.earlyHangUps.check(input.key.keyId);
    const { entry, request } = input.prepared;
    const isThinking = thinksFirst(request, entry.private.max_tokens);
    const ends = { left: reader.gone, interrupted: interrupted.signal, isThinking };
    const asking = obtainAnswer(deps, { ...input, gone }, askForStream(deps.config.chat, ends));
    const obtained = await asking.catch((error: unknown) => {
      if (reader.gone.aborted) deps.earlyHangUps.note(input.key.keyId);
      throw error;
    });
    if (obtained === 'replay') return 'replay';
    const { tried } = obtained;
    reader.begins?.(carriedTo(deps, input.prepared, tried.channel.adapter).leftOut);
    deps.metrics.firstTokenSent({
      model: input.prepared.entry.model.id,
      channel: tried.channel.name,
      ms: performance.now() - startedAt,
    });
    const delivered = (obtained.progress.delivered = new DeliveredText());
    const { end, sale, answered, broken } = await refundOnError(deps, input, obtained.progress, async () => {
      const { reply, broken: error } = await relay(obtained, { reader, delivered }, interrupted.signal);
      if (error) sayBroken(deps, input, obtained, error);
      const billed = await billChat(deps, storable(deps, input), tried, reply, { broken: error, delivered });
      return { ...billed, broken: error };
    });
    crashPoint('chat_after_upstream_before_settle');
    await settleChat(deps, end, sale);
    return { answered, broken };
  } finally {
    live.remove();
  }
}

/** Passes the content on until the answer ends, for whatever reason. */
async function relay(
  { tried, answer: stream }: Obtained<OpenedStream>,
  { reader, delivered }: { reader: ChatReader; delivered: DeliveredText },
  interrupted: AbortSignal,
) {
  const collector = new ReplyCollector();
  const readOn = stream.follow(collector);
  const pass: TakePieces = (pieces) => {
    const content = pieces.filter(isContent);
    const caughtUp = content.length > 0 ? reader.take(content) : undefined;
    // After the reader has them, because what it cannot take was not delivered.
    delivered.add(pieces, !reader.gone.aborted);
    collector.add(pieces);
    readOn.heard(pieces);
    return caughtUp;
  };
  try {
    await pass(stream.first);
    await stream.rest(pass);
  } catch (error) {
    if (!(error instanceof ChatStreamBroken)) {
      // What came before it was delivered and is charged.
      return {
        reply: collector.reply(),
        broken: new GatewayError('internal_error', { cause: error, shouldRetry: false }),
      };
    }
    // The counts may be missing then, and nothing else.
    if (collector.isFinished) return { reply: collector.reply(), broken: null };
    // A provider may close a connection that a slow client keeps it waiting on.
    const isOurs = interrupted.aborted || reader.gone.aborted || stream.isOverdue() || stream.wasHeldBack();
    if (!isOurs) tried.note(error.attempt);
    return {
      reply: collector.reply(),
      broken: endOf(error, { isStopping: interrupted.aborted, isOverdue: stream.isOverdue() }),
    };
  } finally {
    stream.stop();
  }
  return { reply: collector.reply(), broken: null };
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

/** The client's error for an answer that broke off. A repetition would be charged again, so official clients should not repeat it. */
function endOf({ attempt }: ChatStreamBroken, ours: { isStopping: boolean; isOverdue: boolean }): GatewayError {
  if (ours.isStopping) return new GatewayError('service_unavailable', { shouldRetry: false });
  const isTimeout = ours.isOverdue || attempt.timedOut !== undefined;
  return new GatewayError(isTimeout ? 'upstream_timeout' : 'upstream_error', { shouldRetry: false });
}

function sayBroken(
  { logger }: ChatDeps,
  { requestId }: ChatInput,
  { tried }: Obtained<unknown>,
  broken: GatewayError,
): void {
  const about = { request_id: requestId, channel: tried.channel.name, code: broken.code };
  if (broken.code === 'internal_error')
    logger.error({ ...about, err: broken.cause }, 'a streamed answer could not be passed on');
  else logger.info(about, 'a streamed answer broke off');
}
