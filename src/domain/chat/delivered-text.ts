import type { ChatReply } from './chat.ts';
import { toDeltas, type ChatDelta } from './chat-stream.ts';

/**
 * More letters and digits than one token has in any script: the longest names of programs in OpenAI's vocabularies have 41 (cl100k) and 26
 * (o200k), a repeated letter counted once. Blanks and signs do not count, because one token may have a hundred of them.
 */
const LETTERS_PER_TOKEN_MAX = 48;

/**
 * The fewest tokens that a text can have. No estimate: about a tenth of what an English text has, so that fewer tokens for it are certainly
 * wrong.
 */
export class LeastTokens {
  #letters = 0;
  #last = -1;

  add(text: string): void {
    for (let at = 0; at < text.length; at++) {
      const code = text.charCodeAt(at);
      if (code !== this.#last && isLetter(code)) this.#letters++;
      this.#last = code;
    }
  }

  get count(): number {
    return Math.floor(this.#letters / LETTERS_PER_TOKEN_MAX);
  }
}

/** A letter or digit of ASCII, or any other character, of which some scripts have several in a token. */
const isLetter = (code: number): boolean =>
  code > 0x7f || (code >= 0x61 && code <= 0x7a) || (code >= 0x41 && code <= 0x5a) || (code >= 0x30 && code <= 0x39);

/**
 * What a client receives of one answer, followed as it is handed over and apart from all that its settlement reads, so that invariant C10
 * compares the two (rules "Invariants").
 */
export class DeliveredText {
  readonly #least = new LeastTokens();
  /** The count that the provider reported after all content. */
  #reportedTokens: number | null = null;
  #isEnded = false;

  /** Adds the next pieces. `isReceived`: false once the client has left. Its answer is charged to the end of what was read all the same. */
  add(pieces: readonly ChatDelta[], isReceived = true): void {
    for (const piece of pieces) {
      if (isReceived) this.#addText(piece);
      this.#followCounts(piece);
    }
  }

  #addText(piece: ChatDelta): void {
    if ('text' in piece) this.#least.add(piece.text);
    if (piece.kind !== 'tool_call') return;
    this.#least.add(piece.name ?? '');
    this.#least.add(piece.arguments);
  }

  #followCounts(piece: ChatDelta): void {
    switch (piece.kind) {
      case 'usage':
        this.#reportedTokens = piece.usage.outputTokens ?? this.#reportedTokens;
        return;
      case 'finish':
        this.#isEnded = piece.isCut !== true;
        return;
      default:
        this.#reportedTokens = null;
    }
  }

  /**
   * The fewest tokens that may be charged for it: those that its texts have at least, and no more than `maxTokens`, which is the most that is
   * charged for an answer without counts. If the provider counted the whole answer, its word is taken for fewer.
   */
  leastTokens(maxTokens: number): number {
    const least = Math.min(this.#least.count, maxTokens);
    // A count of zero is not believed beside a text.
    const isCounted =
      this.#isEnded &&
      this.#reportedTokens !== null &&
      this.#reportedTokens !== 0 &&
      Number.isSafeInteger(this.#reportedTokens);
    return isCounted ? Math.min(least, Math.max(this.#reportedTokens ?? 0, 0)) : least;
  }
}

/** A whole answer as a client receives it. */
export function deliveredWhole(reply: ChatReply): DeliveredText {
  const delivered = new DeliveredText();
  delivered.add(toDeltas(reply.hasInterimCounts ? { ...reply, usage: null } : reply));
  return delivered;
}
