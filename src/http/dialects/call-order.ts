import type { ChatDelta } from '../../domain/chat/chat-stream.ts';

type CallPiece = Extract<ChatDelta, { kind: 'tool_call' }>;

/**
 * Puts the pieces of an answer into the order of a dialect whose blocks come one after another. Providers may mix the pieces of several tool
 * calls. A piece that would end an unfinished call is kept until that call is whole, or until the answer ends.
 */
export class CallOrder {
  /** The call whose block is open. */
  #open: { index: number; text: string } | null = null;
  /** The length at which the open call was last found unfinished, so that a hostile answer is not parsed for each of its pieces. */
  #unfinishedLength = 0;
  #kept: ChatDelta[] = [];

  /** The pieces that may be written now. */
  next(piece: ChatDelta): ChatDelta[] {
    const released = this.#continues(piece) ? [] : this.#release();
    if (this.#continues(piece) || !this.#isUnfinished()) return [...released, this.#write(piece)];
    this.#kept.push(piece);
    return released;
  }

  /** The pieces that were kept, when the answer has ended. */
  rest(): ChatDelta[] {
    const all: ChatDelta[] = [];
    while (this.#kept.length > 0) {
      this.#open = null;
      all.push(...this.#release());
    }
    return all;
  }

  #continues(piece: ChatDelta): piece is CallPiece {
    return piece.kind === 'tool_call' && piece.index === this.#open?.index;
  }

  #write(piece: ChatDelta): ChatDelta {
    if (piece.kind !== 'tool_call') this.#open = null;
    else if (this.#continues(piece) && this.#open) this.#open.text += piece.arguments;
    else {
      this.#open = { index: piece.index, text: piece.arguments };
      this.#unfinishedLength = 0;
    }
    return piece;
  }

  /** The kept pieces up to the next unfinished call, with all that is there of it. */
  #release(): ChatDelta[] {
    const released: ChatDelta[] = [];
    while (this.#kept.length > 0 && !this.#isUnfinished()) {
      const [first, ...others] = this.#kept;
      if (!first) break;
      const isSame = (piece: ChatDelta): boolean =>
        first.kind === 'tool_call' && piece.kind === 'tool_call' && piece.index === first.index;
      released.push(...[first, ...others.filter(isSame)].map((piece) => this.#write(piece)));
      this.#kept = others.filter((piece) => !isSame(piece));
    }
    return released;
  }

  /** Whether the arguments of the open call, which are a JSON object, are not whole yet. */
  #isUnfinished(): boolean {
    if (this.#open === null) return false;
    const { text } = this.#open;
    if (!text.trimEnd().endsWith('}') || text.length < 2 * this.#unfinishedLength) return true;
    try {
      JSON.parse(text);
      return false;
    } catch {
      this.#unfinishedLength = text.length;
      return true;
    }
  }
}
