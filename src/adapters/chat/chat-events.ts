import { StringDecoder } from 'node:string_decoder';
import { createParser } from 'eventsource-parser';
import { AnswerLimit, limitedReply } from '../../domain/chat/answer-limit.ts';
import { CallArguments, mustBeWhole, reasonWithCalls } from '../../domain/chat/call-arguments.ts';
import type { ChatReply, FinishReason } from '../../domain/chat/chat.ts';
import { ReplyCollector, toDeltas, type ChatDelta } from '../../domain/chat/chat-stream.ts';
import type { Attempt, Trouble } from '../../domain/channels/upstream.ts';
import { SilenceTimer } from '../../platform/silence-timer.ts';
import type { CallOutcome } from '../upstream/upstream-request.ts';
import { ChatStreamBroken, type ChatStream, type TakePieces } from '../channel.ts';
import {
  blockedPrompt,
  classifyChat,
  failedChat,
  FailedAnswer,
  inBandError,
  reportedError,
  type ReadError,
} from '../upstream/classify-outcome.ts';
import { StreamCut, type UpstreamStream } from '../upstream/stream-upstream.ts';

/** Reads the events of one answer in the format of a family. It may keep state between them. */
export interface EventReader {
  /**
   * The pieces in one event, which is JSON. `blocked`: the provider's policy refused the prompt. A `FailedAnswer`: there is none. Null: the
   * event cannot be read, or says that the provider broke the answer off.
   */
  read(json: unknown): ChatDelta[] | 'blocked' | FailedAnswer | null;
  /** Whether the event that was read last is the last one of the family's protocol. A family without such an event has no such method. */
  isOver?(): boolean;
  /** Whether pieces are held back for a part that has not come, such as the name of a call. An answer that ends so is none. */
  lacksPart?(): boolean;
}

/** Far above any piece of text, and small enough that 2,000 streams of a hostile provider do not fill the memory. */
const EVENT_MAX_CHARACTERS = 1_000_000;
/**
 * How long an answer waits for more after its reason and its counts, and after its reason alone. A provider that sends no last event and keeps
 * the connection open would hold its end back for as long as it likes.
 */
const AFTER_COUNTS_MS = 1_000;
const AFTER_REASON_MS = 2_000;
/** OpenAI's last event, which is not JSON. */
const DONE = '[DONE]';

/** A streamed call's outcome as an attempt. A stream is `ok` from its first byte on; what breaks it later is thrown by `next`. */
export function readChatStream(
  outcome: CallOutcome | UpstreamStream,
  read: {
    events: () => EventReader;
    reply: (json: unknown) => ChatReply | 'blocked' | FailedAnswer | null;
    error: ReadError;
    /** The tokens that the request allows. An answer far above them is cut. */
    maxTokens: number;
  },
): Attempt<ChatStream> {
  if (outcome.kind === 'streaming') return { kind: 'ok', value: new ChatEvents(outcome, read) };
  const attempt = classifyChat(outcome, read.reply, read.error);
  // Some compatible servers do not stream, whatever they are asked.
  return attempt.kind === 'ok' ? { kind: 'ok', value: streamOf(limitedReply(attempt.value, read.maxTokens)) } : attempt;
}

/** A finished answer as a stream. */
function streamOf(reply: ChatReply): ChatStream {
  return { each: async (take) => take(toDeltas(reply)), wasHeldBack: () => false, stop: () => undefined };
}

/** An answer that arrives as events. */
class ChatEvents implements ChatStream {
  readonly #stream: UpstreamStream;
  readonly #reader: EventReader;
  readonly #readError: ReadError;
  readonly #limit: AnswerLimit;
  /** Keeps the bytes of half a character until the rest comes. */
  readonly #decoder = new StringDecoder('utf8');
  readonly #parser = createParser({
    onEvent: ({ data }) => this.#add(data),
    onError: ({ type }) => {
      if (type === 'max-buffer-size-exceeded') this.#end ??= this.#unreadable('an event is too large');
    },
    maxBufferSize: EVENT_MAX_CHARACTERS,
  });
  /** Read and not yet taken. */
  #pieces: ChatDelta[] = [];
  readonly #seen = { finish: false, content: false, counts: false };
  readonly #calls = new CallArguments();
  /** Why nothing follows these pieces. */
  #end: 'done' | 'closed' | ChatStreamBroken | undefined;

  constructor(
    stream: UpstreamStream,
    { events, error, maxTokens }: { events: () => EventReader; error: ReadError; maxTokens: number },
  ) {
    this.#stream = stream;
    this.#reader = events();
    this.#readError = error;
    this.#limit = new AnswerLimit(maxTokens);
  }

  async each(take: TakePieces): Promise<void> {
    const ending = Promise.withResolvers<void>();
    const lastWait = new SilenceTimer(ending.resolve);
    const body = this.#stream.each((bytes) => {
      this.#parser.feed(this.#decoder.write(bytes));
      // What came before an error is part of the answer, even if both arrived together.
      const hasMore = this.#pieces.length > 0;
      const caughtUp = this.#pass(take);
      if (this.#end !== undefined) ending.resolve(caughtUp);
      else if (hasMore && this.#seen.finish) this.#waitForMore(caughtUp, lastWait);
      return caughtUp;
    });
    try {
      await Promise.race([ending.promise, body]);
      this.#end ??= 'closed';
    } catch (error) {
      if (!(error instanceof StreamCut)) throw error;
      this.#end ??= cutOff(error, this.#stream.status, this.#seen.content);
    } finally {
      lastWait.stop();
    }
    await this.#conclude(this.#end, take);
  }

  /** Ends an answer that has its reason. Only while the reader keeps up, because nothing is received until then. */
  #waitForMore(caughtUp: Promise<void> | undefined, lastWait: SilenceTimer): void {
    lastWait.stop();
    const wait = () => lastWait.start(this.#seen.counts ? AFTER_COUNTS_MS : AFTER_REASON_MS);
    // What a reader throws reaches the caller by the body.
    if (caughtUp) caughtUp.then(wait, () => undefined);
    else wait();
  }

  #pass(take: TakePieces): Promise<void> | undefined {
    const pieces = this.#pieces;
    if (pieces.length === 0) return undefined;
    this.#pieces = [];
    return take(pieces);
  }

  wasHeldBack(): boolean {
    return this.#stream.wasHeldBack();
  }

  stop(): void {
    this.#stream.stop();
  }

  #add(data: string): void {
    if (this.#end !== undefined) return;
    if (data === DONE) {
      this.#end = 'done';
      return;
    }
    const read = this.#read(data);
    if (read instanceof ChatStreamBroken) {
      this.#end = read;
      return;
    }
    const pieces = read.flatMap((one) => this.#limit.keep(one));
    for (const piece of pieces) {
      if (this.#addPiece(piece)) continue;
      // The counts of an answer that is none are not billed.
      this.#pieces = this.#pieces.filter((one) => one.kind !== 'usage' || !pieces.includes(one));
      return;
    }
    if (this.#limit.isOver) this.#end = 'done';
    else if (this.#reader.isOver?.()) this.#end = 'closed';
  }

  /** False if the answer ends in error with this piece. */
  #addPiece(piece: ChatDelta): boolean {
    if (piece.kind === 'finish') return this.#finish(piece);
    if (piece.kind === 'tool_call') this.#calls.add(piece);
    if (piece.kind === 'usage') this.#seen.counts = this.#seen.finish || piece.usage.outputTokens !== null;
    else Object.assign(this.#seen, { content: true, counts: false });
    this.#pieces.push(piece);
    return true;
  }

  #finish(piece: Extract<ChatDelta, { kind: 'finish' }>): boolean {
    const lack = piece.isCut === true ? null : this.#lackAt(piece.reason);
    if (lack !== null) {
      this.#end = this.#unreadable(lack);
      return false;
    }
    this.#pieces.push(...this.#ended(piece));
    this.#seen.finish = true;
    return true;
  }

  /** What a whole answer would have and this one has not; null if nothing. */
  #lackAt(reason: FinishReason): string | null {
    if (this.#reader.lacksPart?.()) return 'a tool call has no name';
    return mustBeWhole(reason) && this.#calls.areCut ? 'the arguments of a tool call were cut' : null;
  }

  /** The last pieces. A call that ends without any arguments has an empty object of them, as in a whole answer; some servers say twice how it ends. */
  #ended(piece: Extract<ChatDelta, { kind: 'finish' }>): ChatDelta[] {
    const isWhole = !this.#seen.finish && piece.isCut !== true && mustBeWhole(piece.reason);
    const empty = isWhole ? this.#calls.withoutText : [];
    return [
      ...empty.map((index) => ({ kind: 'tool_call' as const, index, arguments: '{}' })),
      { ...piece, reason: reasonWithCalls(piece.reason, !this.#calls.isEmpty) },
    ];
  }

  #read(data: string): ChatDelta[] | ChatStreamBroken {
    let json: unknown;
    try {
      json = JSON.parse(data);
    } catch {
      return this.#unreadable('an event is not JSON');
    }
    const words = reportedError(json, this.#readError);
    if (words !== null) return new ChatStreamBroken(inBandError(json, words));
    const pieces = this.#reader.read(json);
    if (pieces === null) return this.#unreadable('an unexpected event');
    if (pieces instanceof FailedAnswer) return new ChatStreamBroken(failedChat(pieces, this.#stream.status));
    return pieces === 'blocked' ? new ChatStreamBroken(blockedPrompt) : pieces;
  }

  #unreadable(what: string): ChatStreamBroken {
    const { status } = this.#stream;
    return broken({ errorClass: 'unreadable', detail: `HTTP ${status}, ${what}`, status });
  }

  async #conclude(end: 'done' | 'closed' | ChatStreamBroken, take: TakePieces): Promise<void> {
    this.stop();
    if (end instanceof ChatStreamBroken) throw end;
    if (this.#seen.finish) return;
    if (end === 'closed' || !this.#seen.content) throw this.#unreadable('the stream ended without a reason');
    // Some compatible servers leave the reason out. `[DONE]` after some text means the same.
    const lack = this.#lackAt('stop');
    if (lack !== null) throw this.#unreadable(lack);
    await take(this.#ended({ kind: 'finish', reason: 'stop' }));
  }
}

const cutOff = ({ message, isSilence }: StreamCut, status: number, isAnswering: boolean): ChatStreamBroken =>
  broken({
    errorClass: 'interrupted',
    detail: message,
    status,
    ...(isSilence && { timedOut: isAnswering ? 'answering' : 'unanswered' }),
  });

const broken = (trouble: Trouble): ChatStreamBroken => new ChatStreamBroken({ kind: 'transient', ...trouble });

/** Reads a stream to its end, for clients that want the answer as a whole. Throws `ChatStreamBroken`. */
export async function collectReply(stream: ChatStream): Promise<ChatReply> {
  const collector = new ReplyCollector();
  await stream.each((pieces) => {
    collector.add(pieces);
    return undefined;
  });
  return collector.reply();
}

/** A whole answer, read as the events of a streamed one. `text`: its text if it is empty. Null for one with neither a reason nor anything else. */
export function replyOfEvents(
  reader: EventReader,
  events: readonly unknown[],
  text: '' | null,
): ChatReply | 'blocked' | FailedAnswer | null {
  const collector = new ReplyCollector();
  for (const event of events) {
    const deltas = reader.read(event);
    if (!Array.isArray(deltas)) return deltas;
    collector.add(deltas);
  }
  if (reader.lacksPart?.()) return null;
  const { hasInterimCounts: _, ...reply } = collector.reply();
  const content = reply.content ?? text;
  const hasWords = content !== null || reply.refusal !== null || reply.reasoning !== undefined;
  return collector.isFinished || hasWords || reply.toolCalls.length > 0 ? { ...reply, content } : null;
}
