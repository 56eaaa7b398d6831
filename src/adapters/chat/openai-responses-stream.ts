import type { ChatDelta } from '../../domain/chat/chat-stream.ts';
import type { EventReader } from './chat-events.ts';
import { callIdOr } from './tool-words.ts';
import { FailedAnswer } from '../upstream/classify-outcome.ts';
import { indexIn, fieldsIn, textIn, type EventFields } from './event-fields.ts';
import { toResponsesReply, toSignedThought } from './openai-responses.ts';

/**
 * The events of a streamed response (https://platform.openai.com/docs/api-reference/responses-streaming, read 2026-11-22). The last one
 * has the whole response, whose reason and counts are read as those of a response that was not streamed.
 */
export const responsesEvents = (): EventReader => {
  const calls = new OpenCalls();
  const thoughts = new Thoughts();
  let isOver = false;
  return {
    isOver: () => isOver,
    read(json) {
      const event = fieldsIn(json);
      switch (event?.type) {
        case 'response.output_text.delta':
          return [{ kind: 'text', text: textIn(event.delta) ?? '' }];
        case 'response.refusal.delta':
          return [{ kind: 'refusal', text: textIn(event.delta) ?? '' }];
        case 'response.reasoning_summary_text.delta':
        case 'response.reasoning_text.delta':
          return thoughts.piece(event);
        case 'response.output_item.added':
          return calls.begin(event);
        case 'response.function_call_arguments.delta':
        case 'response.custom_tool_call_input.delta':
          return calls.piece(event);
        case 'response.output_item.done':
          return calls.end(event)?.concat(thoughts.end(event)) ?? null;
        case 'response.completed':
        case 'response.incomplete':
        case 'response.failed':
          isOver = true;
          return endOfResponse(event);
        default:
          return typeof event?.type === 'string' ? [] : null;
      }
    },
  };
};

/** The thoughts of an answer. */
class Thoughts {
  /** Where the last piece stands; undefined at the beginning and after a signature, which ends a thought. */
  #part: string | undefined;

  /** A blank line is before each further part, as in a whole answer. */
  piece({ type, output_index: item, summary_index: summary, content_index: content, delta }: EventFields): ChatDelta[] {
    const text = textIn(delta);
    if (text === undefined) return [];
    const part = [type, item, summary ?? content].join();
    const separator = this.#part === undefined || this.#part === part ? '' : '\n\n';
    this.#part = part;
    return [{ kind: 'reasoning', text: separator + text }];
  }

  end({ item }: EventFields): ChatDelta[] {
    const thought = toSignedThought(item);
    if (!thought) return [];
    this.#part = undefined;
    return [{ kind: 'signed_thought', thought }];
  }
}

interface OpenCall {
  /** Our number of the call. */
  index: number;
  /** The input of a custom tool is free text, which becomes JSON like the arguments of a function. */
  isCustom: boolean;
  hasPieces: boolean;
}

/** The items of an answer that are calls of tools. */
class OpenCalls {
  readonly #byItem = new Map<number, OpenCall>();

  begin(event: EventFields): ChatDelta[] | null {
    const item = fieldsIn(event.item);
    if (item?.type !== 'function_call' && item?.type !== 'custom_tool_call') return [];
    const [name, outputIndex] = [textIn(item.name), indexIn(event.output_index)];
    if (name === undefined || outputIndex === undefined) return null;
    const index = this.#byItem.size;
    this.#byItem.set(outputIndex, { index, isCustom: item.type === 'custom_tool_call', hasPieces: false });
    return [{ kind: 'tool_call', index, id: callIdOr(textIn(item.call_id)), name, arguments: '' }];
  }

  piece(event: EventFields): ChatDelta[] {
    const call = this.#callOf(event);
    const text = textIn(event.delta);
    if (!call || text === undefined) return [];
    const opening = call.isCustom && !call.hasPieces ? '{"input":"' : '';
    call.hasPieces = true;
    return [pieceOf(call, call.isCustom ? opening + JSON.stringify(text).slice(1, -1) : text)];
  }

  /** The arguments count here if they did not come in pieces, and so does a call that no event began. */
  end(event: EventFields): ChatDelta[] | null {
    const isUnknown = indexIn(event.output_index) !== undefined && !this.#callOf(event);
    const begun = isUnknown ? this.begin(event) : [];
    const call = this.#callOf(event);
    if (!begun || !call) return begun;
    const item = fieldsIn(event.item);
    if (call.hasPieces) return call.isCustom ? [pieceOf(call, '"}')] : [];
    const custom = JSON.stringify({ input: textIn(item?.input) ?? '' });
    return [...begun, pieceOf(call, call.isCustom ? custom : (textIn(item?.arguments) ?? '{}'))];
  }

  #callOf({ output_index: outputIndex }: EventFields): OpenCall | undefined {
    return this.#byItem.get(indexIn(outputIndex) ?? -1);
  }
}

const pieceOf = ({ index }: OpenCall, text: string): ChatDelta => ({ kind: 'tool_call', index, arguments: text });

function endOfResponse(event: EventFields): ChatDelta[] | 'blocked' | FailedAnswer | null {
  const reply = toResponsesReply(event.response);
  if (reply === null || reply === 'blocked' || reply instanceof FailedAnswer) return reply;
  const { usage, finishReason } = reply;
  return [...(usage ? [{ kind: 'usage' as const, usage }] : []), { kind: 'finish', reason: finishReason }];
}
