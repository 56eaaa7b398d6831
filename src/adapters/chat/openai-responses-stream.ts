import type { ChatDelta } from '../../domain/chat/chat-stream.ts';
import type { EventReader } from './chat-events.ts';
import { callIdOr } from './chat-call.ts';
import { FailedAnswer } from '../upstream/classify-outcome.ts';
import { indexIn, fieldsIn, textIn, type EventFields } from './event-fields.ts';
import { toResponsesReply, toSignedThought } from './openai-responses.ts';

/**
 * The events of a streamed response (https://platform.openai.com/docs/api-reference/responses-streaming, read 2026-11-22). The last one
 * has the whole response, whose reason and counts are read as those of a response that was not streamed.
 */
export const responsesEvents = (): EventReader => {
  /** The items of the answer that are function calls, and our numbers of them. */
  const calls = new Map<number, number>();
  let isOver = false;
  const custom = new CustomInputs();
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
          return [{ kind: 'reasoning', text: textIn(event.delta) ?? '' }];
        case 'response.output_item.added':
          return startOfCall(event, calls);
        case 'response.output_item.done':
          return [...endOfThought(event), ...custom.end(event, calls)];
        case 'response.custom_tool_call_input.delta':
          return custom.piece(event, calls);
        case 'response.function_call_arguments.delta': {
          const index = calls.get(indexIn(event.output_index) ?? -1);
          return index === undefined ? [] : [{ kind: 'tool_call', index, arguments: textIn(event.delta) ?? '' }];
        }
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

function startOfCall(event: EventFields, calls: Map<number, number>): ChatDelta[] | null {
  const item = fieldsIn(event.item);
  if (item?.type !== 'function_call' && item?.type !== 'custom_tool_call') return [];
  const [name, outputIndex] = [textIn(item.name), indexIn(event.output_index)];
  if (name === undefined || outputIndex === undefined) return null;
  const index = calls.size;
  calls.set(outputIndex, index);
  return [{ kind: 'tool_call', index, id: callIdOr(textIn(item.call_id)), name, arguments: '' }];
}

/** The free texts of custom tools as the JSON of a function's arguments. */
class CustomInputs {
  readonly #begun = new Set<number>();

  piece({ output_index: outputIndex, delta }: EventFields, calls: ReadonlyMap<number, number>): ChatDelta[] {
    const index = calls.get(indexIn(outputIndex) ?? -1);
    if (index === undefined) return [];
    const opening = this.#begun.has(index) ? '' : '{"input":"';
    this.#begun.add(index);
    return [{ kind: 'tool_call', index, arguments: opening + JSON.stringify(textIn(delta) ?? '').slice(1, -1) }];
  }

  end({ output_index: outputIndex, item }: EventFields, calls: ReadonlyMap<number, number>): ChatDelta[] {
    const done = fieldsIn(item);
    const index = calls.get(indexIn(outputIndex) ?? -1);
    if (done?.type !== 'custom_tool_call' || index === undefined) return [];
    const text = this.#begun.has(index) ? '"}' : JSON.stringify({ input: textIn(done.input) ?? '' });
    return [{ kind: 'tool_call', index, arguments: text }];
  }
}

function endOfResponse(event: EventFields): ChatDelta[] | 'blocked' | FailedAnswer | null {
  const reply = toResponsesReply(event.response);
  if (reply === null || reply === 'blocked' || reply instanceof FailedAnswer) return reply;
  const { usage, finishReason } = reply;
  return [...(usage ? [{ kind: 'usage' as const, usage }] : []), { kind: 'finish', reason: finishReason }];
}

function endOfThought({ item }: EventFields): ChatDelta[] {
  const thought = toSignedThought(item);
  return thought ? [{ kind: 'signed_thought', thought }] : [];
}
