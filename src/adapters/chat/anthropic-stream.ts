import type { ChatUsage } from '../../domain/chat/chat.ts';
import type { ChatDelta } from '../../domain/chat/chat-stream.ts';
import { callIdOr } from './tool-words.ts';
import type { EventReader } from './chat-events.ts';
import { FailedAnswer } from '../upstream/classify-outcome.ts';
import { anthropicFinishWords, finishMeaning } from './finish-words.ts';
import { indexIn, fieldsIn, mergedFields, textIn, type EventFields } from './event-fields.ts';

type ToUsage = (json: unknown) => ChatUsage | null;

/** The blocks of one answer that are not over with one event, by their number among all blocks. */
interface OpenBlocks {
  calls: Map<number, OpenCall>;
  thoughts: Map<number, { text: string; signature: string }>;
  /** The last thought has no signature that would end it. */
  hasUnsigned: boolean;
}
interface OpenCall {
  /** Our number of the call: we count the calls alone. */
  index: number;
  /** The arguments that came with its name, or null if they are no object. They count if no pieces follow. */
  input: EventFields | null;
  hasPieces: boolean;
}

/**
 * The events of a streamed message (https://platform.claude.com/docs/en/build-with-claude/streaming, read 2026-11-22). `message_start`
 * has the count of the input, `message_delta` that of the output; the output count of the first is a placeholder.
 */
export const anthropicEvents = (toUsage: ToUsage): EventReader => {
  const blocks: OpenBlocks = { calls: new Map(), thoughts: new Map(), hasUnsigned: false };
  let input: EventFields = {};
  let isOver = false;
  return {
    isOver: () => isOver,
    read(json) {
      const event = fieldsIn(json);
      switch (event?.type) {
        case 'message_start': {
          input = fieldsIn(fieldsIn(event.message)?.usage) ?? {};
          const usage = toUsage({ ...input, output_tokens: null });
          return usage ? [{ kind: 'usage', usage }] : [];
        }
        case 'content_block_start':
          return startOfBlock(event, blocks);
        case 'content_block_delta':
          return pieceOfBlock(event, blocks);
        case 'content_block_stop':
          return endOfBlock(event, blocks);
        case 'message_delta':
          return endOfMessage(event, input, toUsage);
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

function startOfBlock(event: EventFields, blocks: OpenBlocks): ChatDelta[] | null {
  const { calls, thoughts } = blocks;
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
      return thoughtPiece(text, blocks);
    }
    case 'redacted_thinking': {
      const signature = textIn(block.data);
      if (signature === undefined) return [];
      return [{ kind: 'signed_thought', thought: { kind: 'anthropic_redacted', text: '', signature } }];
    }
    case 'tool_use': {
      const [id, name] = [textIn(block.id), textIn(block.name)];
      const input = block.input === '' ? {} : fieldsIn(block.input ?? {});
      if (name === undefined || blockIndex === undefined) return null;
      const index = calls.size;
      calls.set(blockIndex, { index, input, hasPieces: false });
      return [{ kind: 'tool_call', index, id: callIdOr(id), name, arguments: '' }];
    }
    default:
      return [];
  }
}

function pieceOfBlock(event: EventFields, blocks: OpenBlocks): ChatDelta[] {
  const delta = fieldsIn(event.delta);
  const blockIndex = indexIn(event.index) ?? -1;
  const thought = blocks.thoughts.get(blockIndex);
  switch (delta?.type) {
    case 'text_delta':
      return [{ kind: 'text', text: textIn(delta.text) ?? '' }];
    case 'thinking_delta': {
      const text = textIn(delta.thinking) ?? '';
      if (thought) thought.text += text;
      return thoughtPiece(text, blocks);
    }
    case 'signature_delta':
      if (thought) thought.signature = textIn(delta.signature) ?? '';
      return [];
    case 'input_json_delta': {
      const call = blocks.calls.get(blockIndex);
      const text = textIn(delta.partial_json);
      // Arguments of a tool that the provider itself runs are none of ours.
      if (!call || text === undefined) return [];
      call.hasPieces = true;
      return [{ kind: 'tool_call', index: call.index, arguments: text }];
    }
    default:
      return [];
  }
}

/** Thoughts are parted by a blank line, as in a whole answer, unless a signature parts them. */
function thoughtPiece(text: string, blocks: OpenBlocks): ChatDelta[] {
  if (text === '') return [];
  const separator = blocks.hasUnsigned ? '\n\n' : '';
  blocks.hasUnsigned = false;
  return [{ kind: 'reasoning', text: separator + text }];
}

function endOfBlock({ index }: EventFields, blocks: OpenBlocks): ChatDelta[] | null {
  const blockIndex = indexIn(index) ?? -1;
  const call = blocks.calls.get(blockIndex);
  if (call && !call.hasPieces)
    return call.input && [{ kind: 'tool_call', index: call.index, arguments: JSON.stringify(call.input) }];
  const thought = blocks.thoughts.get(blockIndex);
  if (!thought) return [];
  if (thought.signature !== '') return [{ kind: 'signed_thought', thought: { kind: 'anthropic', ...thought } }];
  blocks.hasUnsigned ||= thought.text !== '';
  return [];
}

function endOfMessage(event: EventFields, input: EventFields, toUsage: ToUsage): ChatDelta[] | FailedAnswer | null {
  const before: EventFields = { ...input, output_tokens: null };
  // Counts do not fall: some servers send zero for what only `message_start` counts.
  const later = Object.entries(fieldsIn(event.usage) ?? {}).filter(([name, count]) => count !== 0 || !before[name]);
  const usage = toUsage(mergedFields(before, Object.fromEntries(later)));
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
