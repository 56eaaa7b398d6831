import { createParser, type EventSourceMessage } from 'eventsource-parser';
import type { ChatReply } from '../domain/chat.ts';
import { ReplyCollector, toDeltas, type ChatDelta } from '../domain/chat-stream.ts';
import type { Attempt, Trouble } from '../domain/upstream.ts';
import type { CallOutcome } from './upstream-request.ts';
import { ChatStreamBroken, type ChatStream } from './channel.ts';
import { classifyChat, isContentPolicy, type FailedAnswer, type ReadError } from './classify-outcome.ts';
import { fieldsIn } from './event-fields.ts';
import { StreamCut, type UpstreamStream } from './stream-upstream.ts';

/** Reads the events of one answer in the format of a family. It may keep state between them. */
export interface EventReader {
  /** The pieces in one event, which is JSON. `blocked`: the provider's policy refused the prompt. Null: the event cannot be read. */
  read(json: unknown): ChatDelta[] | 'blocked' | null;
}

/** Far above any piece of text, and small enough that 2,000 streams of a hostile provider do not fill the memory. */
const EVENT_MAX_CHARACTERS = 1_000_000;
/** OpenAI's last event, which is not JSON. */
const DONE = '[DONE]';

/** A streamed call's outcome as an attempt. A stream is `ok` from its first byte on; what breaks it later is thrown by `deltas`. */
export function readChatStream(
  outcome: CallOutcome | UpstreamStream,
  read: {
    events: () => EventReader;
    reply: (json: unknown) => ChatReply | 'blocked' | FailedAnswer | null;
    error: ReadError;
  },
): Attempt<ChatStream> {
  if (outcome.kind === 'streaming') {
    return { kind: 'ok', value: { deltas: deltasOf(outcome, read.events(), read.error), stop: () => outcome.stop() } };
  }
  const attempt = classifyChat(outcome, read.reply, read.error);
  if (attempt.kind !== 'ok') return attempt;
  // Some compatible servers do not stream, whatever they are asked.
  return { kind: 'ok', value: { deltas: atOnce(toDeltas(attempt.value)), stop: () => undefined } };
}

async function* atOnce(deltas: ChatDelta[]): AsyncGenerator<ChatDelta[]> {
  yield await Promise.resolve(deltas);
}

async function* deltasOf(
  stream: UpstreamStream,
  reader: EventReader,
  readError: ReadError,
): AsyncGenerator<ChatDelta[]> {
  const { status } = stream;
  const events: EventSourceMessage[] = [];
  const parser = createParser({ onEvent: (event) => events.push(event), maxBufferSize: EVENT_MAX_CHARACTERS });
  const decoder = new TextDecoder();
  const seen = { finish: false, content: false, done: false };
  try {
    for await (const chunk of stream.chunks) {
      feed(parser, decoder.decode(chunk, { stream: true }), status);
      const { deltas, end } = readEvents(events.splice(0), reader, readError, status);
      for (const { kind } of deltas) {
        if (kind === 'finish') seen.finish = true;
        else if (kind !== 'usage') seen.content = true;
      }
      // What came before an error is part of the answer, even if both arrived together.
      if (deltas.length > 0) yield deltas;
      if (end === DONE) seen.done = true;
      else if (end) throw end;
      if (seen.done) break;
    }
  } catch (error) {
    throw error instanceof StreamCut ? cutOff(error, status, seen.content) : error;
  } finally {
    stream.stop();
  }
  if (seen.finish) return;
  // Some compatible servers leave the reason out. `[DONE]` after some text means the same.
  if (seen.done && seen.content) yield [{ kind: 'finish', reason: 'stop' }];
  else throw broken({ errorClass: 'unreadable', detail: `HTTP ${status}, the stream ended without a reason`, status });
}

function feed(parser: ReturnType<typeof createParser>, text: string, status: number): void {
  try {
    parser.feed(text);
  } catch {
    throw broken({ errorClass: 'unreadable', detail: `HTTP ${status}, an event is too large`, status });
  }
}

/** The pieces of some events, up to the last event of the stream or to one that breaks it. */
function readEvents(
  events: EventSourceMessage[],
  reader: EventReader,
  readError: ReadError,
  status: number,
): { deltas: ChatDelta[]; end?: typeof DONE | ChatStreamBroken } {
  const deltas: ChatDelta[] = [];
  for (const event of events) {
    if (event.data === DONE) return { deltas, end: DONE };
    const read = readEvent(event, reader, readError, status);
    if (read instanceof ChatStreamBroken) return { deltas, end: read };
    deltas.push(...read);
  }
  return { deltas };
}

function readEvent(
  { data }: EventSourceMessage,
  reader: EventReader,
  readError: ReadError,
  status: number,
): ChatDelta[] | ChatStreamBroken {
  let json: unknown;
  try {
    json = JSON.parse(data);
  } catch {
    return broken({ errorClass: 'unreadable', detail: `HTTP ${status}, an event is not JSON`, status });
  }
  const words = mayReportError(json) ? readError(json) : null;
  if (words !== null) return inBandError(json, words);
  const deltas = reader.read(json);
  if (deltas === null)
    return broken({ errorClass: 'unreadable', detail: `HTTP ${status}, an unexpected event`, status });
  if (deltas !== 'blocked') return deltas;
  return new ChatStreamBroken({
    kind: 'refused',
    code: 'content_policy_violation',
    clientCode: 'content_policy_violation',
    errorClass: 'content_policy',
    detail: 'the prompt was blocked',
  });
}

/**
 * Whether an event may be an error, so that its family has to read it. Nearly all events are pieces, and the schemas of errors would cost
 * more than all other work on one.
 */
function mayReportError(json: unknown): boolean {
  const event = fieldsIn(json);
  return (event?.error ?? null) !== null || event?.object === 'error';
}

/** An error inside a stream has no status of its own. With 400 the words of moderation count, as they do not with 500. */
function inBandError(json: unknown, words: string[]): ChatStreamBroken {
  const outcome = {
    kind: 'answered' as const,
    status: isContentPolicy(words) ? 400 : 500,
    headers: {},
    body: { json },
  };
  const attempt = classifyChat(
    outcome,
    () => null,
    () => words,
  );
  if (attempt.kind === 'ok') throw new Error('an error was read as an answer');
  return new ChatStreamBroken(attempt);
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
export async function collectReply({ deltas }: ChatStream): Promise<ChatReply> {
  const collector = new ReplyCollector();
  for await (const some of deltas) collector.add(some);
  return collector.reply();
}
