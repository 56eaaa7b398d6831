import { ChatStreamBroken, type TakePieces } from '../../channels/channel.ts';
import { isContent, ReplyCollector } from '../../domain/chat-stream.ts';
import { GatewayError } from '../../domain/errors.ts';
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
 * leaves, is charged as far as it was generated; with nothing generated it costs nothing. A provider that writes on when its reader leaves
 * is read to its end, for at most 60 s. Until the first content another channel is tried, and a failure throws a `GatewayError`, as it does
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
    const ends = { left: reader.gone, interrupted: interrupted.signal };
    const obtained = await obtainAnswer(deps, { ...input, gone }, askForStream(deps.config.chat, ends));
    if (obtained === 'replay') return 'replay';
    const { tried } = obtained;
    reader.begins?.(carriedTo(deps, input.prepared, tried.channel.adapter).leftOut);
    deps.metrics.firstTokenSent({
      model: input.prepared.entry.model.id,
      channel: tried.channel.name,
      ms: performance.now() - startedAt,
    });
    const { end, sale, answered, broken } = await refundOnError(deps, input, obtained.progress, async () => {
      const relayed = await relay(obtained, reader, interrupted.signal);
      const { reply } = relayed;
      if (relayed.broken) sayBroken(deps, input, obtained, relayed.broken);
      return { ...(await billChat(deps, input, tried, reply, relayed.broken)), broken: relayed.broken };
    });
    crashPoint('chat_after_upstream_before_settle');
    await settleChat(deps, end, sale);
    return { answered, broken };
  } finally {
    live.remove();
  }
}

/** Passes the content on until the answer ends, for whatever reason. */
async function relay({ tried, answer: stream }: Obtained<OpenedStream>, reader: ChatReader, interrupted: AbortSignal) {
  const collector = new ReplyCollector();
  const pass: TakePieces = (pieces) => {
    collector.add(pieces);
    const content = pieces.filter(isContent);
    return content.length > 0 ? reader.take(content) : undefined;
  };
  try {
    await pass(stream.first);
    await stream.rest(pass);
  } catch (error) {
    if (!(error instanceof ChatStreamBroken)) throw error;
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
  logger.info({ request_id: requestId, channel: tried.channel.name, code: broken.code }, 'a streamed answer broke off');
}
