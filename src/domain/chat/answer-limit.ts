import type { ChatReply } from './chat.ts';
import { ReplyCollector, toDeltas, type ChatDelta } from './chat-stream.ts';

/** Far above the characters of a token in any script: a run of blanks or signs is the longest token. */
const CHARACTERS_PER_TOKEN_MAX = 64;
/** Short answers may have a long signature or many tool calls. */
const CHARACTERS_APART = 65_536;
const CHARACTERS_MAX = 8_000_000;
/** What a piece costs beside its text, so that empty pieces end, too. */
const CHARACTERS_PER_PIECE = 8;

/**
 * The most that one answer may have, in characters: a multiple of the tokens that the request allows, and never more than eight million
 * (rules "Chat"). A provider that writes more ignores `max_tokens`.
 */
export const answerCharactersMax = (maxTokens: number): number =>
  Math.min(maxTokens * CHARACTERS_PER_TOKEN_MAX + CHARACTERS_APART, CHARACTERS_MAX);

/** Lets through as much of one answer as it may have. */
export class AnswerLimit {
  #remaining: number;
  #isOver = false;

  constructor(maxTokens: number) {
    this.#remaining = answerCharactersMax(maxTokens);
  }

  /** Whether the answer has ended, because it was too long. Nothing more is let through. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** What the answer may have of this piece. The piece that is too long is left out, and the answer ends as cut there. */
  keep(piece: ChatDelta): ChatDelta[] {
    if (this.#isOver) return [];
    this.#remaining -= sizeOf(piece);
    if (this.#remaining >= 0) return [piece];
    this.#isOver = true;
    const rest = this.#remaining + sizeOf(piece);
    return [...shortened(piece, rest), { kind: 'finish', reason: 'length', isCut: true }];
  }
}

function sizeOf(piece: ChatDelta): number {
  switch (piece.kind) {
    case 'text':
    case 'refusal':
    case 'reasoning':
      return piece.text.length + CHARACTERS_PER_PIECE;
    case 'signed_thought':
      return piece.thought.signature.length + CHARACTERS_PER_PIECE;
    case 'tool_call':
      return [piece.id, piece.name, piece.arguments, piece.signature].reduce<number>(
        (sum, text) => sum + (text?.length ?? 0),
        CHARACTERS_PER_PIECE,
      );
    default:
      return 0;
  }
}

/** A text up to the limit, without half a character at its end. Any other piece is useless in parts. */
function shortened(piece: ChatDelta, characters: number): ChatDelta[] {
  if (!('text' in piece) || characters <= 0) return [];
  const text = piece.text.slice(0, characters);
  const whole = text.isWellFormed() ? text : text.slice(0, -1);
  return whole === '' ? [] : [{ ...piece, text: whole }];
}

/** A whole answer as far as it may go. */
export function limitedReply(reply: ChatReply, maxTokens: number): ChatReply {
  const limit = new AnswerLimit(maxTokens);
  const kept = toDeltas(reply).flatMap((piece) => limit.keep(piece));
  if (!limit.isOver) return reply;
  const collector = new ReplyCollector();
  collector.add(kept);
  return { ...collector.reply(), usage: reply.usage };
}
