import type { ChatUsage, FinishReason } from '../domain/chat.ts';
import type { ChatDelta } from '../domain/chat-stream.ts';
import type { EventReader } from './chat-events.ts';
import { indexIn, fieldsIn, textIn, type EventFields } from './event-fields.ts';

interface AnthropicWords {
  stopReasons: Readonly<Record<string, FinishReason>>;
  toUsage: (json: unknown) => ChatUsage | null;
}

/**
 * The events of a streamed message (https://platform.claude.com/docs/en/build-with-claude/streaming, read 2026-11-22). `message_start`
 * has the count of the input, `message_delta` that of the output; the output count of the first is a placeholder.
 */
export const anthropicEvents = (words: AnthropicWords): EventReader => {
  /** Anthropic counts all blocks of the answer, we count its tool calls. */
  const calls = new Map<number, number>();
  let input: EventFields = {};
  return {
    read(json) {
      const event = fieldsIn(json);
      switch (event?.type) {
        case 'message_start': {
          input = fieldsIn(fieldsIn(event.message)?.usage) ?? {};
          const usage = words.toUsage({ ...input, output_tokens: null });
          return usage ? [{ kind: 'usage', usage }] : [];
        }
        case 'content_block_start':
          return startOfBlock(event, calls);
        case 'content_block_delta':
          return pieceOfBlock(event, calls);
        case 'message_delta':
          return endOfMessage(event, input, words);
        case 'content_block_stop':
        case 'message_stop':
        case 'ping':
          return [];
        default:
          // The documentation asks clients to skip events that they do not know.
          return typeof event?.type === 'string' ? [] : null;
      }
    },
  };
};

function startOfBlock(event: EventFields, calls: Map<number, number>): ChatDelta[] | null {
  const block = fieldsIn(event.content_block);
  if (block?.type === 'text' && textIn(block.text)) return [{ kind: 'text', text: String(block.text) }];
  if (block?.type !== 'tool_use') return [];
  const [id, name, place] = [textIn(block.id), textIn(block.name), indexIn(event.index)];
  if (name === undefined || place === undefined) return null;
  const index = calls.size;
  calls.set(place, index);
  return [{ kind: 'tool_call', index, id: id ?? `call_${index}`, name, arguments: '' }];
}

function pieceOfBlock(event: EventFields, calls: ReadonlyMap<number, number>): ChatDelta[] | null {
  const delta = fieldsIn(event.delta);
  switch (delta?.type) {
    case 'text_delta':
      return [{ kind: 'text', text: textIn(delta.text) ?? '' }];
    case 'thinking_delta':
      return [{ kind: 'reasoning', text: textIn(delta.thinking) ?? '' }];
    case 'input_json_delta': {
      const index = calls.get(indexIn(event.index) ?? -1);
      // Arguments of a tool that the provider itself runs are none of ours.
      return index === undefined ? [] : [{ kind: 'tool_call', index, arguments: textIn(delta.partial_json) ?? '' }];
    }
    default:
      return [];
  }
}

function endOfMessage(event: EventFields, input: EventFields, words: AnthropicWords): ChatDelta[] {
  const usage = words.toUsage({ ...input, ...fieldsIn(event.usage) });
  const deltas: ChatDelta[] = usage ? [{ kind: 'usage', usage }] : [];
  const reason = textIn(fieldsIn(event.delta)?.stop_reason);
  if (reason !== undefined) deltas.push({ kind: 'finish', reason: words.stopReasons[reason] ?? 'stop' });
  return deltas;
}
