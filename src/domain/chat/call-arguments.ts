import type { ChatReply, ToolCall } from './chat.ts';

/** Follows the JSON of one tool call's arguments as it is written, and tells whether it was cut off. */
class JsonProgress {
  #begins: boolean | undefined;
  #depth = 0;
  #isInText = false;
  #isEscaped = false;

  add(text: string): void {
    for (const sign of text) this.#addSign(sign);
  }

  /** Whether nothing was written but blanks. */
  get isEmpty(): boolean {
    return this.#begins === undefined;
  }

  /** Whether an object or a list was begun and not ended. Other text is not judged. */
  get isCut(): boolean {
    return this.#begins === true && (this.#depth > 0 || this.#isInText);
  }

  #addSign(sign: string): void {
    if (this.#begins === undefined && sign.trim() !== '') this.#begins = sign === '{' || sign === '[';
    if (!this.#begins) return;
    if (this.#isEscaped) this.#isEscaped = false;
    else if (this.#isInText && sign === '\\') this.#isEscaped = true;
    else if (sign === '"') this.#isInText = !this.#isInText;
    else if (this.#isInText) return;
    else if (sign === '{' || sign === '[') this.#depth += 1;
    else if (sign === '}' || sign === ']') this.#depth -= 1;
  }
}

/** The arguments of all tool calls of one answer, as their pieces come. */
export class CallArguments {
  readonly #calls = new Map<number, JsonProgress>();

  add({ index, arguments: text }: { index: number; arguments: string }): void {
    const call = this.#calls.get(index) ?? new JsonProgress();
    call.add(text);
    this.#calls.set(index, call);
  }

  get isEmpty(): boolean {
    return this.#calls.size === 0;
  }

  /** The calls whose arguments have no text. */
  get withoutText(): number[] {
    return [...this.#calls].flatMap(([index, { isEmpty }]) => (isEmpty ? [index] : []));
  }

  /** Whether the arguments of a call were cut off. A client would run its tool with half a path. */
  get areCut(): boolean {
    return [...this.#calls.values()].some(({ isCut }) => isCut);
  }
}

/** Whether an answer that ends for this reason must be whole. */
export const mustBeWhole = (reason: ChatReply['finishReason']): boolean => reason === 'stop' || reason === 'tool_calls';

/** The reason with which an answer ends that called tools: a provider's `stop` beside calls would tell an agent that the work is done. */
export const reasonWithCalls = (reason: ChatReply['finishReason'], hasCalls: boolean): ChatReply['finishReason'] =>
  hasCalls && reason === 'stop' ? 'tool_calls' : reason;

/** A whole answer with the reason that fits its calls; null if it claims to be complete though the arguments of a call were cut. */
export function wholeReply(reply: ChatReply): ChatReply | null {
  if (mustBeWhole(reply.finishReason) && reply.toolCalls.some(isCutCall)) return null;
  return { ...reply, finishReason: reasonWithCalls(reply.finishReason, reply.toolCalls.length > 0) };
}

function isCutCall({ arguments: text }: ToolCall): boolean {
  const progress = new JsonProgress();
  progress.add(text);
  return progress.isCut;
}
