import type { ChatMessage, ChatRequest, ChatTool } from '../../../domain/chat/chat.ts';
import { isObject, type JsonObject, type JsonValue } from '../../../domain/json.ts';
import { isNonNull, nonNullFields } from '../chat-fields.ts';
import { customArguments, customInput, isCustomTool } from '../custom-tool.ts';
import type { Reading } from '../reading.ts';
import { readResponses } from '../responses/responses-request.ts';
import { readV1OpenaiChat } from './openai-chat-request.ts';

/**
 * Whether a chat completion has the form that Cursor's agent sends to a base URL of the user's own
 * (https://docs.litellm.ai/docs/tutorials/cursor_integration, read 2026-11-29): the `input` of the Responses API instead of messages, or its
 * flat tools.
 */
export const isCursorChat = (body: JsonObject): boolean =>
  hasInput(body) || (Array.isArray(body['tools']) && body['tools'].some(isFlat));

/** Whether the conversation is `input`. */
export const hasInput = ({ input, messages }: JsonObject): boolean =>
  isNonNull(input) && (!isNonNull(messages) || (Array.isArray(messages) && messages.length === 0));

/**
 * Reads such a request. Throws as `readResponses` does if the conversation is `input`, else as `readV1OpenaiChat`. Cursor expects the call of a
 * custom tool as that of a function whose arguments are the free text, and sends it back in that form
 * (https://github.com/icebear0828/codex-proxy/pull/708, read 2026-11-29).
 */
export function readCursorChat(body: JsonObject, reading: Reading): ChatRequest {
  const request = hasInput(body)
    ? readResponses(asResponse(body), reading)
    : readV1OpenaiChat({ ...body, ...inTools(body, nested) }, reading);
  return { ...request, messages: request.messages.map((message) => withCustomCalls(message, request.tools)) };
}

function asResponse(body: JsonObject): JsonObject {
  const { messages: _, stream_options: __, max_tokens, max_completion_tokens, ...rest } = body;
  return {
    ...nonNullFields({ max_output_tokens: max_completion_tokens ?? max_tokens }),
    ...rest,
    ...inTools(body, flat),
  };
}

const inTools = ({ tools, tool_choice: choice }: JsonObject, write: (tool: JsonValue) => JsonValue): JsonObject =>
  nonNullFields({
    tools: Array.isArray(tools) ? tools.map(write) : tools,
    tool_choice: isNonNull(choice) ? write(choice) : choice,
  });

const isFlat = (tool: JsonValue): boolean => nested(tool) !== tool;

/** A tool, or the choice of one, in the form of chat completions. */
function nested(tool: JsonValue): JsonValue {
  if (!isObject(tool) || !isNonNull(tool['name'])) return tool;
  const { type, cache_control, ...own } = tool;
  if ((type !== 'function' && type !== 'custom') || isObject(own[type])) return tool;
  return { type, [type]: own, ...nonNullFields({ cache_control }) };
}

/** The same in the form of the Responses API. */
function flat(tool: JsonValue): JsonValue {
  if (!isObject(tool) || (tool['type'] !== 'function' && tool['type'] !== 'custom')) return tool;
  const own = tool[tool['type']];
  return isObject(own) ? { type: tool['type'], ...own } : tool;
}

function withCustomCalls(message: ChatMessage, tools: readonly ChatTool[]): ChatMessage {
  if (message.role !== 'assistant') return message;
  return {
    ...message,
    toolCalls: message.toolCalls.map((call) =>
      isCustomTool(tools, call.name)
        ? { ...call, arguments: customArguments(customInput(call.arguments)), isCustom: true }
        : call,
    ),
  };
}
