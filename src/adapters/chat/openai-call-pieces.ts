import type { ChatDelta } from '../../domain/chat/chat-stream.ts';
import { callIdOr } from './tool-words.ts';
import { fieldsIn, indexIn, textIn, type EventFields } from './event-fields.ts';

type CallDelta = Extract<ChatDelta, { kind: 'tool_call' }>;

interface OpenCall {
  /** Our index of the call, from 0; -1 until its name is known, because its pieces are sent on only from then on. */
  index: number;
  /** The provider's id, if it has sent one. */
  providerId: string | undefined;
  name: string | undefined;
  arguments: string;
  signature: string | undefined;
}

/**
 * The tool calls of a streamed chat completion, told apart. OpenAI numbers them from 0 and sends the id and the name with the first piece of
 * each. Compatible servers leave the number or the id out, count from 1, give all calls the number 0, or send the name later. A new id begins
 * a new call, unless its piece has the number of an open call and no name, and so does another name, or a name after whole arguments. A call
 * is held back until its name is known.
 */
export class OpenaiCallPieces {
  readonly #calls: OpenCall[] = [];
  #shownCount = 0;
  /** By the provider's numbers. */
  readonly #byNumber = new Map<number, OpenCall>();

  /** The piece with our index; null while it is held back. */
  add(piece: EventFields): CallDelta | null {
    const fn = fieldsIn(piece.function) ?? {};
    const rawArguments = fn.arguments ?? '';
    // Some compatible servers send the arguments as an object.
    const text = typeof rawArguments === 'string' ? rawArguments : JSON.stringify(rawArguments);
    const id = textIn(piece.id);
    const name = textIn(fn.name);
    const number = indexIn(piece.index);
    const current = number === undefined ? this.#callWithoutNumber(id) : this.#byNumber.get(number);
    const isNew = !current || startsNewCall(current, { id, name, text, hasNumber: number !== undefined });
    const call = isNew ? this.#begin() : current;
    if (number !== undefined) this.#byNumber.set(number, call);
    const signature = textIn(fieldsIn(fieldsIn(piece.extra_content)?.google)?.thought_signature);
    call.signature ??= signature;
    call.providerId ??= id;
    call.arguments += text;
    if (call.name !== undefined) {
      const signed = signature !== undefined && { signature };
      return { kind: 'tool_call', index: call.index, arguments: text, ...signed };
    }
    if (name === undefined) return null;
    call.name = name;
    call.index = this.#shownCount;
    this.#shownCount += 1;
    return {
      kind: 'tool_call',
      index: call.index,
      id: callIdOr(call.providerId),
      name,
      arguments: call.arguments,
      ...(call.signature !== undefined && { signature: call.signature }),
    };
  }

  /** Whether a call never got a name: the answer cannot be used then. A piece of nothing at all is no call. */
  get hasNameless(): boolean {
    return this.#calls.some(
      ({ name, providerId, arguments: text }) => name === undefined && (text !== '' || providerId !== undefined),
    );
  }

  /** The call of a piece without a number: that of its id, or the last one. */
  #callWithoutNumber(id: string | undefined): OpenCall | undefined {
    const ofId = id === undefined ? undefined : this.#calls.find(({ providerId }) => providerId === id);
    return ofId ?? this.#calls.at(-1);
  }

  #begin(): OpenCall {
    const call = { index: -1, providerId: undefined, name: undefined, arguments: '', signature: undefined };
    this.#calls.push(call);
    return call;
  }
}

interface PieceFacts {
  id: string | undefined;
  name: string | undefined;
  text: string;
  hasNumber: boolean;
}

/** Whether a piece begins a call of its own, although its number or its id leads to `current`, or `current` is the last one. */
function startsNewCall(current: OpenCall, { id, name, text, hasNumber }: PieceFacts): boolean {
  if (id !== undefined && id === current.providerId) return false;
  if (id !== undefined && current.providerId !== undefined) {
    // Some servers make up an id for each piece. Its number tells where it belongs, and a piece of nothing begins no call.
    const isContinued = name === undefined && (hasNumber ? current.name !== undefined : text === '');
    return !isContinued;
  }
  if (name === undefined || current.name === undefined) return false;
  if (name !== current.name) return true;
  // Without ids, some servers repeat the name in each piece.
  return text !== '' && isWhole(current.arguments);
}

function isWhole(text: string): boolean {
  if (!text.trimEnd().endsWith('}')) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
