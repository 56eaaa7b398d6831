import type { z } from 'zod';
import type { ChatReply, ToolCall } from '../../../domain/chat/chat.ts';
import type { SignedThought } from '../../../domain/chat/thoughts.ts';
import type { AnthropicMessage } from '../../openapi/schemas/anthropic-message.ts';
import { answerTokenParts, costMember, type AnswerUsage, type ChatAnswer } from '../chat-answer.ts';
import { callArguments } from '../call-arguments.ts';
import { tokenOfCall, toToken } from '../thought-token.ts';

type MessageReply = z.input<typeof AnthropicMessage>;
export type ReplyBlock = MessageReply['content'][number];

/** Writes the message object (https://platform.claude.com/docs/en/api/messages, read 2026-11-22). */
export function anthropicMessage(answer: ChatAnswer): MessageReply {
  const { id, model, reply, warning } = answer;
  const calls = reply.toolCalls.flatMap(toCallBlocks);
  const isBroken = calls.includes(null);
  const warnings = [warning, isBroken ? brokenCall : undefined].filter((text) => text !== undefined);
  return {
    ...emptyMessage({ id, model }),
    content: [...thoughtBlocks(reply), ...textBlocks(reply), ...calls.filter((block) => block !== null)],
    ...stopOf(reply),
    usage: anthropicUsage(answer),
    ...(warnings.length > 0 && { tollgate: { warning: warnings.join(' ') } }),
  };
}

const brokenCall = 'A tool call was left out, because its arguments are not a JSON object.';

/** The message before its first block. */
export const emptyMessage = ({ id, model }: Pick<ChatAnswer, 'id' | 'model'>) => ({
  id,
  type: 'message' as const,
  role: 'assistant' as const,
  model,
  content: [],
  container: null,
  diagnostics: null,
  stop_reason: null,
  stop_sequence: null,
  stop_details: null,
});

/** Why the answer ended, in the fields of a message and of `message_delta`. */
export function stopOf(reply: ChatReply): Pick<MessageReply, 'stop_reason' | 'stop_sequence' | 'stop_details'> {
  const { finishReason, refusal, toolCalls, stopSequence } = reply;
  const isRefused = refusal !== null || finishReason === 'content_filter';
  // A call without an object as its arguments is not finished, as if the answer had been cut within it.
  const isCut = finishReason === 'length' || toolCalls.some((call) => callArguments(call.arguments) === null);
  return {
    stop_reason: isRefused
      ? 'refusal'
      : isCut
        ? 'max_tokens'
        : // OpenAI says `stop` if the client forced the call.
          toolCalls.length > 0
          ? 'tool_use'
          : stopSequence !== undefined
            ? 'stop_sequence'
            : 'end_turn',
    stop_sequence: stopSequence ?? null,
    stop_details: isRefused ? { type: 'refusal', category: null, explanation: refusal } : null,
  };
}

/** The `usage` of a message. Anthropic counts the cached input apart from the rest. */
export function anthropicUsage(answer: AnswerUsage): MessageReply['usage'] {
  const { usage } = answer;
  const { cached: read, cacheWrite: written, cacheWrite1h: writtenForLong, reasoning } = answerTokenParts(answer);
  return {
    input_tokens: usage.input - read - written,
    cache_read_input_tokens: read,
    cache_creation_input_tokens: written,
    cache_creation: {
      ephemeral_5m_input_tokens: written - writtenForLong,
      ephemeral_1h_input_tokens: writtenForLong,
    },
    output_tokens: usage.output,
    output_tokens_details: { thinking_tokens: reasoning },
    server_tool_use: null,
    service_tier: 'standard',
    inference_geo: null,
    speed: null,
    ...costMember(answer),
  };
}

/** A thought as its block. Without a signature it is shown, and its model does not need it again. */
export const thoughtBlock = (thought: SignedThought): ReplyBlock =>
  thought.kind === 'anthropic_redacted'
    ? { type: 'redacted_thinking', data: thought.signature }
    : { type: 'thinking', thinking: thought.text, signature: toToken(thought, 'anthropic') };

function thoughtBlocks({ reasoning, thoughts }: ChatReply): ReplyBlock[] {
  if (thoughts) return thoughts.map(thoughtBlock);
  return reasoning ? [{ type: 'thinking', thinking: reasoning, signature: '' }] : [];
}

const textBlocks = ({ content, refusal }: ChatReply): ReplyBlock[] =>
  [content, refusal].flatMap((text) => (text ? [{ type: 'text', text, citations: null }] : []));

/** The block before a call that has the signature of its family. */
export function signatureBlocks(call: Pick<ToolCall, 'id' | 'signature'>): ReplyBlock[] {
  const signature = tokenOfCall(call);
  return signature === undefined ? [] : [{ type: 'thinking', thinking: '', signature }];
}

/** The block of a call before its arguments. */
export const callBlock = ({ id, name }: Pick<ToolCall, 'id' | 'name'>): Extract<ReplyBlock, { type: 'tool_use' }> => ({
  type: 'tool_use',
  id,
  name,
  input: {},
  caller: { type: 'direct' },
});

/** Null for a call whose arguments are not an object, which they must be here. */
function toCallBlocks(call: ToolCall): (ReplyBlock | null)[] {
  const input = callArguments(call.arguments);
  return input ? [...signatureBlocks(call), { ...callBlock(call), input }] : [null];
}
