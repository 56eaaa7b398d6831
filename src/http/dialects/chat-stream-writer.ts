import type { ChatUsage } from '../../domain/chat/chat.ts';
import type { ChatDelta, ThoughtText } from '../../domain/chat/chat-stream.ts';
import type { GatewayError } from '../../domain/errors.ts';
import type { ChatAnswer } from './chat-answer.ts';

/** What every event of a streamed answer says. */
export interface StreamAbout extends Pick<ChatAnswer, 'id' | 'created' | 'model' | 'ownedBy'> {
  /** An estimate, for events that are written before the provider has counted. */
  inputTokens?: number;
  /** The id under which the request is logged. */
  requestId: string;
  /** Whether the client asked for a last event with the counts (OpenAI: `stream_options.include_usage`). */
  includeUsage: boolean;
}

/** The answer with what it cost. */
export interface StreamEnd extends Pick<ChatAnswer, 'reply' | 'usage' | 'warning' | 'costDetails'> {
  credits: number;
  /** Upstream calls. */
  attempts: number;
}

/** Writes one streamed answer in a dialect, as the text of Server-Sent Events. */
export interface ChatStreamWriter {
  /** Takes the counts that the provider sent before the first piece, for dialects that begin with them. */
  counted?(usage: ChatUsage): void;
  /** Events with pieces of content. Empty if these pieces make none yet. */
  pieces(deltas: readonly ChatDelta[]): string;
  /** The events after the last piece. */
  end(answer: StreamEnd): string;
  /** The event of an error after the answer began. Nothing follows it. */
  error(error: GatewayError): string;
}

/** One event with a JSON object. Compact JSON has no line breaks, which would divide the event. */
export const dataEvent = (json: string): string => `data: ${json}\n\n`;

/** The same with a name, by which some SDKs tell events apart. */
export const namedEvent = (name: string, json: object): string => `event: ${name}\n${dataEvent(JSON.stringify(json))}`;

/**
 * Pieces of one kind that arrived together become one, which costs the client less. Clients of Google read one text in an event.
 * For dialects without a field for the signature of a thought.
 */
export function joinedPieces(deltas: readonly ChatDelta[], thoughts: ThoughtText): readonly ChatDelta[] {
  if (deltas.length === 1 && deltas[0]?.kind === 'text') return deltas;
  const all: ChatDelta[] = [];
  for (const delta of deltas.map((one) => thoughts.next(one))) {
    if (delta.kind === 'signed_thought') continue;
    const last = all.at(-1);
    if (last && 'text' in last && 'text' in delta && last.kind === delta.kind)
      all[all.length - 1] = { ...last, text: last.text + delta.text };
    else all.push(delta);
  }
  return all;
}
