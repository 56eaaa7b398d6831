import type { ChatReply, ChatUsage, FinishReason, ToolCall } from './chat.ts';
import type { SignedThought } from './thoughts.ts';

/** A piece of an answer as it is written. Texts are to be appended to what came before. */
export type ChatDelta =
  | { kind: 'text' | 'refusal' | 'reasoning'; text: string }
  /** Ends the thought whose text came before as `reasoning`, and repeats that text. */
  | { kind: 'signed_thought'; thought: SignedThought }
  /** `index` tells the calls of an answer apart. The id and the name come with the first piece of a call. */
  | { kind: 'tool_call'; index: number; id?: string; name?: string; arguments: string; signature?: string }
  /** `isCut`: the gateway ended the answer here, so that counts which came before are not final. */
  | { kind: 'finish'; reason: FinishReason; stopSequence?: string; isCut?: true }
  /** Counts so far. A later one replaces those of an earlier one that it has. */
  | { kind: 'usage'; usage: ChatUsage };

/** Whether the client sees this piece, so that from here on the answer can no longer come from another channel. */
export const isContent = ({ kind }: ChatDelta): boolean => kind !== 'finish' && kind !== 'usage';

/** So many pieces are kept apart before they are joined. */
const PIECES_APART_MAX = 64;

/**
 * A text that comes in pieces. They are joined now and then, because a piece of four letters takes forty bytes by itself, and hundreds of
 * them would outlive several collections of the young heap.
 */
class GrowingText {
  #text: string | null = null;
  #pieces: string[] = [];

  add(piece: string): void {
    if (this.#pieces.push(piece) >= PIECES_APART_MAX) this.whole();
  }

  /** All of it so far; null if nothing was added. */
  whole(): string | null {
    if (this.#pieces.length > 0) this.#text = (this.#text ?? '') + this.#pieces.join('');
    this.#pieces = [];
    return this.#text;
  }
}

/** Makes one text of the thoughts of an answer: a blank line parts a thought from a signed one before it. */
export class ThoughtText {
  #isSigned = false;

  /** The piece as it stands in that text. */
  next(piece: ChatDelta): ChatDelta {
    if (piece.kind === 'signed_thought') this.#isSigned ||= piece.thought.text !== '';
    if (piece.kind !== 'reasoning' || !this.#isSigned) return piece;
    this.#isSigned = false;
    return { ...piece, text: `\n\n${piece.text}` };
  }
}

/** Joins the pieces of one answer. */
export class ReplyCollector {
  readonly #texts = { text: new GrowingText(), refusal: new GrowingText(), reasoning: new GrowingText() };
  readonly #thoughtText = new ThoughtText();
  readonly #thoughts: SignedThought[] = [];
  readonly #calls = new Map<number, ToolCall>();
  #finish: Extract<ChatDelta, { kind: 'finish' }> | null = null;
  #usage: ChatUsage | null = null;
  #hasMoreSinceUsage = false;

  /** Whether the provider has said why the answer ends. */
  get isFinished(): boolean {
    return this.#finish !== null;
  }

  add(deltas: readonly ChatDelta[]): void {
    for (const delta of deltas) this.#addOne(this.#thoughtText.next(delta));
  }

  /** Whether the provider has reported both counts. */
  get hasCounts(): boolean {
    return this.#usage !== null && this.#usage.inputTokens !== null && this.#usage.outputTokens !== null;
  }

  /** Whether it reported its last counts at the end of the answer, after all content. */
  get hasFinalCounts(): boolean {
    const isEnded = this.#finish !== null && !this.#finish.isCut;
    return isEnded && this.#usage !== null && !this.#hasMoreSinceUsage;
  }

  #addOne(delta: ChatDelta): void {
    if (isContent(delta)) this.#hasMoreSinceUsage = true;
    switch (delta.kind) {
      case 'text':
      case 'refusal':
      case 'reasoning':
        this.#texts[delta.kind].add(delta.text);
        return;
      case 'signed_thought':
        this.#thoughts.push(delta.thought);
        return;
      case 'tool_call':
        this.#addToCall(delta);
        return;
      case 'finish':
        this.#finish = delta;
        return;
      case 'usage':
        this.#usage = mergedUsage(this.#usage, delta.usage);
        // Counts without that of the answer say nothing about its later pieces.
        if (delta.usage.outputTokens !== null) this.#hasMoreSinceUsage = false;
        return;
    }
  }

  #addToCall({ index, id, name, arguments: text, signature }: Extract<ChatDelta, { kind: 'tool_call' }>): void {
    const call = this.#calls.get(index) ?? { id: '', name: '', arguments: '' };
    call.id ||= id ?? '';
    call.name ||= name ?? '';
    call.arguments += text;
    if (signature !== undefined) call.signature = signature;
    this.#calls.set(index, call);
  }

  /** The answer so far. An answer that was cut off has the finish reason `stop`. */
  reply(): ChatReply {
    const reasoning = this.#texts.reasoning.whole();
    return {
      content: this.#texts.text.whole(),
      refusal: this.#texts.refusal.whole(),
      ...(reasoning !== null && { reasoning }),
      ...(this.#thoughts.length > 0 && { thoughts: this.#thoughts }),
      toolCalls: [...this.#calls.values()].map((call) => ({ ...call, arguments: call.arguments || '{}' })),
      finishReason: this.#finish?.reason ?? 'stop',
      ...(this.#finish?.stopSequence !== undefined && { stopSequence: this.#finish.stopSequence }),
      ...(this.#usage !== null && !this.hasFinalCounts && { hasInterimCounts: true as const }),
      usage: this.#usage,
    };
  }
}

function mergedUsage(before: ChatUsage | null, later: ChatUsage): ChatUsage {
  if (before === null) return later;
  const reported = Object.entries(later).filter(([, count]) => count !== null && count !== undefined);
  return { ...before, ...Object.fromEntries(reported) };
}

/** A finished answer as the pieces of a stream. */
export function toDeltas(reply: ChatReply): ChatDelta[] {
  const deltas = deltasOfThoughts(reply);
  if (reply.content) deltas.push({ kind: 'text', text: reply.content });
  if (reply.refusal) deltas.push({ kind: 'refusal', text: reply.refusal });
  reply.toolCalls.forEach((call, index) => deltas.push({ kind: 'tool_call', index, ...call }));
  const { finishReason: reason, stopSequence } = reply;
  deltas.push({ kind: 'finish', reason, ...(stopSequence !== undefined && { stopSequence }) });
  if (reply.usage) deltas.push({ kind: 'usage', usage: reply.usage });
  return deltas;
}

function deltasOfThoughts({ reasoning, thoughts = [] }: ChatReply): ChatDelta[] {
  if (thoughts.length === 0) return reasoning ? [{ kind: 'reasoning', text: reasoning }] : [];
  return thoughts.flatMap((thought): ChatDelta[] => [
    ...(thought.text === '' ? [] : [{ kind: 'reasoning' as const, text: thought.text }]),
    { kind: 'signed_thought', thought },
  ]);
}
