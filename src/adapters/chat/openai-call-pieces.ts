import type { ChatDelta } from '../../domain/chat/chat-stream.ts';
import { callIdOr } from './chat-call.ts';
import { fieldsIn, indexIn, textIn, type EventFields } from './event-fields.ts';

type CallDelta = Extract<ChatDelta, { kind: 'tool_call' }>;

interface OpenCall {
  /** Our number of the call, from 0. It gets one with its name, as it is shown from then on. */
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
 * a new call, and so does a name after whole arguments. A call is held back until its name is known.
 */
export class OpenaiCallPieces {
  readonly #calls: OpenCall[] = [];
  #shown = 0;
  readonly #byPosition = new Map<number, OpenCall>();

  /** The piece in our numbers; null while it is held back. */
  add(piece: EventFields): CallDelta | null {
    const called = fieldsIn(piece.function) ?? {};
    const value = called.arguments ?? '';
    // Some compatible servers send the arguments as an object.
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    const [id, name] = [textIn(piece.id), textIn(called.name)];
    const position = indexIn(piece.index);
    const current = position === undefined ? this.#without(id) : this.#byPosition.get(position);
    const call =
      current && !begins(current, { id, name, text, isPlaced: position !== undefined }) ? current : this.#begin();
    if (position !== undefined) this.#byPosition.set(position, call);
    const signature = textIn(fieldsIn(fieldsIn(piece.extra_content)?.google)?.thought_signature);
    call.signature ??= signature;
    call.providerId ??= id;
    if (call.name !== undefined) {
      call.arguments += text;
      const signed = signature !== undefined && { signature };
      return { kind: 'tool_call', index: call.index, arguments: text, ...signed };
    }
    call.arguments += text;
    if (name === undefined) return null;
    call.name = name;
    call.index = this.#shown;
    this.#shown += 1;
    return {
      kind: 'tool_call',
      index: call.index,
      id: callIdOr(call.providerId),
      name,
      arguments: call.arguments,
      ...(call.signature !== undefined && { signature: call.signature }),
    };
  }

  /** Whether a call never got a name, so that the answer is no answer. A piece of nothing at all is no call. */
  get hasNameless(): boolean {
    return this.#calls.some(
      ({ name, providerId, arguments: text }) => name === undefined && (text !== '' || providerId !== undefined),
    );
  }

  /** The call of a piece without a number: that of its id, or the last one. */
  #without(id: string | undefined): OpenCall | undefined {
    return (
      (id === undefined ? undefined : this.#calls.find(({ providerId }) => providerId === id)) ?? this.#calls.at(-1)
    );
  }

  #begin(): OpenCall {
    const call = { index: -1, providerId: undefined, name: undefined, arguments: '', signature: undefined };
    this.#calls.push(call);
    return call;
  }
}

function begins(
  current: OpenCall,
  { id, name, text, isPlaced }: { id: string | undefined; name: string | undefined; text: string; isPlaced: boolean },
): boolean {
  const isNewId = id !== undefined && current.providerId !== undefined && id !== current.providerId;
  // Some servers make up an id for each piece, whose number tells where it belongs.
  if (isNewId) return !isPlaced || name !== undefined || current.name === undefined;
  if (name === undefined || current.name === undefined || (id !== undefined && id === current.providerId)) return false;
  // Without ids, some servers repeat the name in each piece.
  return name !== current.name || (text !== '' && isWhole(current.arguments));
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
