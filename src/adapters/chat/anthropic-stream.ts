import type { ChatUsage } from '../../domain/chat/chat.ts';
import type { ChatDelta } from '../../domain/chat/chat-stream.ts';
import { callIdOr } from './chat-call.ts';
import type { EventReader } from './chat-events.ts';
import { FailedAnswer } from '../upstream/classify-outcome.ts';
import { anthropicFinishWords, finishMeaning } from './finish-words.ts';
import { indexIn, fieldsIn, textIn, type EventFields } from './event-fields.ts';

interface AnthropicWords {
  toUsage: (json: unknown) => ChatUsage | null;
}

/** The blocks of one answer that are not over with one event, by their number among all blocks. */
interface OpenBlocks {
  /** Our number of each tool call: we count the calls alone. */
  calls: Map<number, number>;
  thoughts: Map<number, { text: string; signature: string }>;
}

/**
 * The events of a streamed message (https://platform.claude.com/docs/en/build-with-claude/streaming, read 2026-11-22). `message_start`
 * has the count of the input, `message_delta` that of the output; the output count of the first is a placeholder.
 */
export const anthropicEvents = (words: AnthropicWords): EventReader => {
  const blocks: OpenBlocks = { calls: new Map(), thoughts: new Map() };
  let input: EventFields = {};
  let isOver = false;
  return {
    isOver: () => isOver,
    read(json) {
      const event = fieldsIn(json);
      switch (event?.type) {
        case 'message_start': {
          input = fieldsIn(fieldsIn(event.message)?.usage) ?? {};
          const usage = words.toUsage({ ...input, output_tokens: null });
          return usage ? [{ kind: 'usage', usage }] : [];
        }
        case 'content_block_start':
          return startOfBlock(event, blocks);
        case 'content_block_delta':
          return pieceOfBlock(event, blocks);
        case 'content_block_stop':
          return endOfBlock(event, blocks);
        case 'message_delta':
          return endOfMessage(event, input, words);
        case 'message_stop':
          isOver = true;
          return [];
        case 'ping':
          return [];
        default:
          // The documentation asks clients to skip events that they do not know.
          return typeof event?.type === 'string' ? [] : null;
      }
    },
  };
};

function startOfBlock(event: EventFields, { calls, thoughts }: OpenBlocks): ChatDelta[] | null {
  const block = fieldsIn(event.content_block);
  const blockIndex = indexIn(event.index);
  switch (block?.type) {
    case 'text': {
      const text = textIn(block.text);
      return text === undefined ? [] : [{ kind: 'text', text }];
    }
    case 'thinking': {
      const text = textIn(block.thinking) ?? '';
      if (blockIndex !== undefined) thoughts.set(blockIndex, { text, signature: textIn(block.signature) ?? '' });
      return text === '' ? [] : [{ kind: 'reasoning', text }];
    }
    case 'redacted_thinking': {
      const signature = textIn(block.data);
      if (signature === undefined) return [];
      return [{ kind: 'signed_thought', thought: { kind: 'anthropic_redacted', text: '', signature } }];
    }
    case 'tool_use': {
      const [id, name] = [textIn(block.id), textIn(block.name)];
      if (name === undefined || blockIndex === undefined) return null;
      const index = calls.size;
      calls.set(blockIndex, index);
      return [{ kind: 'tool_call', index, id: callIdOr(id), name, arguments: '' }];
    }
    default:
      return [];
  }
}

function pieceOfBlock(event: EventFields, { calls, thoughts }: OpenBlocks): ChatDelta[] {
  const delta = fieldsIn(event.delta);
  const blockIndex = indexIn(event.index) ?? -1;
  const thought = thoughts.get(blockIndex);
  switch (delta?.type) {
    case 'text_delta':
      return [{ kind: 'text', text: textIn(delta.text) ?? '' }];
    case 'thinking_delta': {
      const text = textIn(delta.thinking) ?? '';
      if (thought) thought.text += text;
      return [{ kind: 'reasoning', text }];
    }
    case 'signature_delta':
      if (thought) thought.signature = textIn(delta.signature) ?? '';
      return [];
    case 'input_json_delta': {
      const index = calls.get(blockIndex);
      // Arguments of a tool that the provider itself runs are none of ours.
      return index === undefined ? [] : [{ kind: 'tool_call', index, arguments: textIn(delta.partial_json) ?? '' }];
    }
    default:
      return [];
  }
}

function endOfBlock({ index }: EventFields, { thoughts }: OpenBlocks): ChatDelta[] {
  const thought = thoughts.get(indexIn(index) ?? -1);
  if (!thought || thought.signature === '') return [];
  return [{ kind: 'signed_thought', thought: { kind: 'anthropic', ...thought } }];
}

function endOfMessage(
  event: EventFields,
  input: EventFields,
  words: AnthropicWords,
): ChatDelta[] | FailedAnswer | null {
  const usage = words.toUsage({ ...input, output_tokens: null, ...fieldsIn(event.usage) });
  const deltas: ChatDelta[] = usage ? [{ kind: 'usage', usage }] : [];
  const delta = fieldsIn(event.delta);
  const reason = finishMeaning(anthropicFinishWords, delta?.stop_reason);
  const stopSequence = textIn(delta?.stop_sequence);
  if (reason === null) return deltas;
  if (reason === 'failed') return null;
  if (reason === 'malformed') return new FailedAnswer(String(delta?.stop_reason));
  const named = stopSequence !== undefined && { stopSequence };
  return [...deltas, { kind: 'finish', reason: reason ?? 'stop', ...named }];
}
