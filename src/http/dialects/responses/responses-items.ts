import type { z } from 'zod';
import type { ChatDelta } from '../../../domain/chat/chat-stream.ts';
import type { ChatTool } from '../../../domain/chat/chat.ts';
import type { JsonObject } from '../../../domain/json.ts';
import type { SignedThought } from '../../../domain/chat/thoughts.ts';
import type { OpenaiResponse } from '../../openapi/schemas/openai-response.ts';
import { CallOrder } from '../call-order.ts';
import { customInput } from '../custom-tool.ts';
import { tokenOfCall, toToken } from '../thought-token.ts';

type ItemStatus = 'completed' | 'incomplete';
/** An event without its `sequence_number`. */
export type ItemEvent = { type: string } & JsonObject;
/** An item of a response, as its schema describes it. */
export type OutputItem = Pick<z.input<typeof OpenaiResponse>['output'][number], 'id' | 'type'> & JsonObject;

interface OpenMessage {
  id: string;
  index: number;
  parts: { kind: 'text' | 'refusal'; text: string }[];
}
interface OpenThought {
  id: string;
  index: number;
  text: string;
}
interface OpenCall {
  id: string;
  index: number;
  /** Which of the answer's calls it is. */
  order: number;
  callId: string;
  name: string;
  arguments: string;
  /** The tool as the client offered it. */
  tool: ChatTool | undefined;
}

/**
 * The items of one response, built from the pieces of the answer, and the events that tell of them
 * (https://platform.openai.com/docs/api-reference/responses-streaming, read 2026-11-22). An item ends before the next begins, as at OpenAI:
 * Agno, Mirascope and LlamaIndex keep one current call. Thoughts have their signatures whether or not `include` names them, as the types of `openai` 7.57 describe it.
 */
export class ResponseItems {
  readonly #tail: string;
  readonly #tools: readonly ChatTool[];
  readonly #done: OutputItem[] = [];
  readonly #order = new CallOrder();
  readonly #begunCalls = new Set<number>();
  #count = 0;
  #message: OpenMessage | null = null;
  #thought: OpenThought | null = null;
  #call: OpenCall | null = null;

  /** The id of the response makes those of the items unique. Calls are named as in `tools`. */
  constructor(id: string, tools: readonly ChatTool[]) {
    this.#tail = id.replace(/^resp_/, '');
    this.#tools = tools;
  }

  /** The items in order. Call it after `end`. */
  get items(): OutputItem[] {
    return this.#done;
  }

  add(delta: ChatDelta): ItemEvent[] {
    return this.#order.next(delta).flatMap((piece) => this.#put(piece, 'completed'));
  }

  /** Ends what is open. `status` is that of the last item. */
  end(status: ItemStatus): ItemEvent[] {
    return [...this.#rest('completed'), ...this.#endOpen(status)];
  }

  /** Ends what is open of an answer that broke off. The arguments of its calls stay as they are, so that no client runs half a call. */
  breakOff(): ItemEvent[] {
    return [...this.#rest('incomplete'), ...this.#endOpen('incomplete')];
  }

  /** What was kept until its turn. `ending` is that of each call but the last. */
  #rest(ending: ItemStatus): ItemEvent[] {
    return this.#order.rest().flatMap((piece) => this.#put(piece, ending));
  }

  /** A piece of an item, after the end of an open call that it does not continue. */
  #put(delta: ChatDelta, ending: ItemStatus): ItemEvent[] {
    switch (delta.kind) {
      case 'text':
      case 'refusal':
        return [...this.#endCall(ending), ...this.#endThought(), ...this.#say(delta.kind, delta.text)];
      case 'reasoning':
        return [...this.#endCall(ending), ...this.#endMessage('completed'), ...this.#think(delta.text)];
      case 'signed_thought':
        return [...this.#endCall(ending), ...this.#sign(delta.thought)];
      case 'tool_call':
        return this.#continue(delta, ending);
      default:
        return [];
    }
  }

  #endOpen(ending: ItemStatus): ItemEvent[] {
    return [...this.#endThought(), ...this.#endMessage(ending), ...this.#endCall(ending)];
  }

  #open(prefix: string): { id: string; index: number } {
    const index = this.#count;
    this.#count += 1;
    return { id: `${prefix}_${this.#tail}_${index}`, index };
  }

  #finish(index: number, item: OutputItem): ItemEvent {
    this.#done[index] = item;
    return { type: 'response.output_item.done', output_index: index, item };
  }

  #say(kind: 'text' | 'refusal', text: string): ItemEvent[] {
    const events: ItemEvent[] = [];
    if (!this.#message) {
      this.#message = { ...this.#open('msg'), parts: [] };
      events.push(added(this.#message.index, messageItem(this.#message, 'in_progress')));
    }
    const { parts } = this.#message;
    let part = parts.at(-1);
    if (part?.kind !== kind) {
      events.push(...endOfPart(this.#message));
      part = { kind, text: '' };
      parts.push(part);
      events.push({ type: 'response.content_part.added', ...partPosition(this.#message), part: toPart(part) });
    }
    part.text += text;
    const position = partPosition(this.#message);
    events.push(
      kind === 'text'
        ? { type: 'response.output_text.delta', ...position, delta: text, logprobs: [] }
        : { type: 'response.refusal.delta', ...position, delta: text },
    );
    return events;
  }

  #endMessage(status: ItemStatus): ItemEvent[] {
    const message = this.#message;
    if (!message) return [];
    this.#message = null;
    return [...endOfPart(message), this.#finish(message.index, messageItem(message, status))];
  }

  #think(text: string): ItemEvent[] {
    const events: ItemEvent[] = [];
    if (!this.#thought) {
      this.#thought = { ...this.#open('rs'), text: '' };
      const { id, index } = this.#thought;
      events.push(added(index, { id, type: 'reasoning', summary: [] }));
      events.push({
        type: 'response.reasoning_summary_part.added',
        ...thoughtPosition(this.#thought),
        part: toSummary(''),
      });
    }
    this.#thought.text += text;
    events.push({ type: 'response.reasoning_summary_text.delta', ...thoughtPosition(this.#thought), delta: text });
    return events;
  }

  #sign(thought: SignedThought): ItemEvent[] {
    const token = toToken(thought, 'openai');
    return this.#thought ? this.#endThought(token) : [...this.#endMessage('completed'), ...this.#hidden(token)];
  }

  /** A thought of which the client sees only the signature. */
  #hidden(token: string): ItemEvent[] {
    const { id, index } = this.#open('rs');
    const item = { id, type: 'reasoning' as const, summary: [], encrypted_content: token };
    return [added(index, item), this.#finish(index, item)];
  }

  #endThought(token?: string): ItemEvent[] {
    const thought = this.#thought;
    if (!thought) return [];
    this.#thought = null;
    const { id, index, text } = thought;
    const position = thoughtPosition(thought);
    return [
      { type: 'response.reasoning_summary_text.done', ...position, text },
      { type: 'response.reasoning_summary_part.done', ...position, part: toSummary(text) },
      this.#finish(index, {
        id,
        type: 'reasoning',
        summary: [toSummary(text)],
        ...(token !== undefined && { encrypted_content: token }),
      }),
    ];
  }

  #continue(piece: Extract<ChatDelta, { kind: 'tool_call' }>, ending: ItemStatus): ItemEvent[] {
    const events: ItemEvent[] = [];
    if (this.#call?.order !== piece.index) {
      // An item that has ended takes no more. What comes then is empty, or follows the end of a JSON object.
      if (this.#begunCalls.has(piece.index)) return [];
      events.push(...this.#endOpen(ending), ...this.#begin(piece));
    }
    const call = this.#call;
    if (!call) return events;
    call.arguments += piece.arguments;
    // The free text of a custom tool can be read from whole arguments only.
    if (piece.arguments !== '' && !call.tool?.custom)
      events.push({
        type: 'response.function_call_arguments.delta',
        ...callPosition(call),
        delta: piece.arguments,
      });
    return events;
  }

  #begin({ index, id = '', name = '', signature }: Extract<ChatDelta, { kind: 'tool_call' }>): ItemEvent[] {
    const token = tokenOfCall({ id, ...(signature !== undefined && { signature }) });
    const thought = token === undefined ? [] : this.#hidden(token);
    const tool = this.#tools.find((one) => one.name === name);
    const call = { ...this.#open(tool?.custom ? 'ctc' : 'fc'), order: index, callId: id, name, arguments: '', tool };
    this.#call = call;
    this.#begunCalls.add(index);
    return [...thought, added(call.index, callItem(call, 'in_progress'))];
  }

  #endCall(status: ItemStatus): ItemEvent[] {
    const call = this.#call;
    if (!call) return [];
    this.#call = null;
    if (status === 'completed') call.arguments ||= '{}';
    const done = this.#finish(call.index, callItem(call, status));
    const position = callPosition(call);
    if (call.tool?.custom) {
      const input = customInput(call.arguments);
      return [
        { type: 'response.custom_tool_call_input.delta', ...position, delta: input },
        { type: 'response.custom_tool_call_input.done', ...position, input },
        done,
      ];
    }
    const whole = { name: call.name, arguments: call.arguments };
    return [{ type: 'response.function_call_arguments.done', ...position, ...whole }, done];
  }
}

const added = (index: number, item: OutputItem): ItemEvent => ({
  type: 'response.output_item.added',
  output_index: index,
  item,
});

const toSummary = (text: string): JsonObject => ({ type: 'summary_text', text });

const toPart = ({ kind, text }: OpenMessage['parts'][number]): JsonObject =>
  kind === 'text' ? { type: 'output_text', text, annotations: [], logprobs: [] } : { type: 'refusal', refusal: text };

const messageItem = ({ id, parts }: OpenMessage, status: string): OutputItem => ({
  id,
  type: 'message',
  role: 'assistant',
  status,
  content: parts.map(toPart),
});

const callItem = ({ id, callId, name, arguments: text, tool }: OpenCall, status: string): OutputItem => {
  const named = {
    call_id: callId,
    name: tool?.group?.name ?? name,
    ...(tool?.group && { namespace: tool.group.namespace }),
  };
  return tool?.custom
    ? { id, type: 'custom_tool_call', status, ...named, input: text === '' ? '' : customInput(text) }
    : { id, type: 'function_call', status, ...named, arguments: text };
};

/** Where the last part of a message stands, in its events. */
const partPosition = ({ id, index, parts }: OpenMessage) => ({
  item_id: id,
  output_index: index,
  content_index: parts.length - 1,
});
const callPosition = ({ id, index }: OpenCall) => ({ item_id: id, output_index: index });
const thoughtPosition = ({ id, index }: OpenThought) => ({ item_id: id, output_index: index, summary_index: 0 });

/** The end of the last part of a message. */
function endOfPart(message: OpenMessage): ItemEvent[] {
  const part = message.parts.at(-1);
  if (!part) return [];
  const position = partPosition(message);
  return [
    part.kind === 'text'
      ? { type: 'response.output_text.done', ...position, text: part.text, logprobs: [] }
      : { type: 'response.refusal.done', ...position, refusal: part.text },
    { type: 'response.content_part.done', ...position, part: toPart(part) },
  ];
}
