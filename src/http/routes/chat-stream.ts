import { completeChat } from '../../services/chat/complete-chat.ts';
import { streamChat } from '../../services/chat/stream-chat.ts';
import type { ChatAnswered } from '../../services/chat/chat-input.ts';
import type { StoredAnswer } from '../../services/chat/idempotent-chat.ts';
import { isContent, toDeltas } from '../../domain/chat/chat-stream.ts';
import type { GatewayError } from '../../domain/errors.ts';
import { keyOf, type AppContext } from '../context.ts';
import { ignoredFields, tellIgnored, withWarning } from '../request/ignored-fields.ts';
import { inWords } from '../dialects/dialect-words.ts';
import { dataEvent } from '../dialects/chat-stream-writer.ts';
import { EventStream } from '../response/event-stream.ts';
import { logCause, toRefusal } from '../middleware/answer-errors.ts';
import { leaveSlots } from '../middleware/hold-slot.ts';
import {
  asReplay,
  beginChat,
  storedNow,
  tellCost,
  type BegunChat,
  type ChatDialect,
  type ChatRouteDeps,
} from './answer-chat.ts';

/**
 * Answers one chat as events. Under `/v1` every model is streamed as its provider writes, elsewhere the models whose catalog entry says
 * `stream: true`; any other answer comes as one piece when it is finished. `x-tollgate-stream` says which. Until the first event the request
 * can be refused with a status of its own; later an error is an event.
 */
export async function streamAnswer(deps: ChatRouteDeps, ctx: AppContext, dialect: ChatDialect): Promise<void> {
  const begun = await beginChat(deps, ctx, dialect);
  const events = new EventStream(ctx, dialect.framing?.());
  try {
    if ('stored' in begun) return sendStored(ctx, events, begun.stored);
    const isLive = dialect.isLive === true || begun.input.prepared.entry.model.parameters.stream === true;
    ctx.set('x-tollgate-stream', isLive ? 'live' : 'buffered');
    await (isLive ? sendLive : sendBuffered)({ deps, ctx, dialect, begun, events });
  } catch (thrown) {
    const error = inWords(dialect.words ?? {}, thrown);
    ctx.remove('x-tollgate-stream');
    if (!events.isOpen || 'stored' in begun) throw error;
    const refusal = toRefusal(error);
    logCause(deps.logger, ctx, refusal);
    events.end(dialect.stream(begun.about).error(refusal));
  } finally {
    events.close();
  }
}

/** A chat that is answered as events. */
interface Streaming {
  deps: ChatRouteDeps;
  ctx: AppContext;
  dialect: ChatDialect;
  begun: BegunChat;
  events: EventStream;
}

async function sendLive(streaming: Streaming): Promise<void> {
  const { deps, ctx, dialect, begun, events } = streaming;
  const slot = deps.streamSlots.open(keyOf(ctx).projectId);
  slot.take(1);
  // Streams last for minutes. They must not take the slots of short requests.
  leaveSlots(ctx);
  // What is left to do for a client that has left holds its credits, and must not keep others out.
  events.gone.addEventListener('abort', () => slot.release(), { once: true });
  try {
    const writer = dialect.stream(begun.about);
    const streamed = await streamChat(
      deps,
      { ...begun.input, render: (answered, broken) => ({ body: answerEvents(streaming, answered, broken) }) },
      {
        gone: events.gone,
        begins(leftOut, counted) {
          if (counted) writer.counted?.(counted);
          tellIgnored(ctx, ignoredFields(leftOut, dialect.words));
        },
        take: (pieces) => {
          const text = writer.pieces(pieces);
          return text === '' ? undefined : events.write(text);
        },
      },
    );
    if (streamed === 'replay') return sendStored(ctx, events, await storedNow(begun));
    const { answered, broken } = streamed;
    ctx.state.creditsQuoted = answered.credits;
    ctx.state.attempts = answered.attempts;
    events.end(broken ? writer.error(broken) : writer.end(withWarning(answered, dialect.words)));
  } finally {
    slot.release();
  }
}

async function sendBuffered(streaming: Streaming): Promise<void> {
  const { deps, ctx, dialect, begun, events } = streaming;
  const completed = await completeChat(deps, {
    ...begun.input,
    render: (answered) => ({ body: answerEvents(streaming, answered, null) }),
  });
  if (completed === 'replay') return sendStored(ctx, events, await storedNow(begun));
  tellCost(ctx, completed.answered);
  tellIgnored(ctx, ignoredFields(completed.answered.leftOut, dialect.words));
  events.end(completed.body);
}

/** A finished answer as all of its events, as replays send it. */
function answerEvents({ dialect, begun }: Streaming, answered: ChatAnswered, broken: GatewayError | null): string {
  const writer = dialect.stream(begun.about);
  if (answered.reply.usage) writer.counted?.(answered.reply.usage);
  const content = writer.pieces(toDeltas(answered.reply).filter(isContent));
  return content + (broken ? writer.error(broken) : writer.end(withWarning(answered, dialect.words)));
}

/** The stored answer of a model that was not streamed at that time may be one JSON object. */
export const storedEvents = (body: string): string => (body.startsWith('{') ? dataEvent(body) : body);

function sendStored(ctx: AppContext, events: EventStream, stored: StoredAnswer): void {
  ctx.set('x-tollgate-stream', 'buffered');
  events.end(storedEvents(asReplay(ctx, stored)));
}
