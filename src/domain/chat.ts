import type { Model, UpstreamMapping } from './catalog.ts';
import { GatewayError } from './errors.ts';
import type { JsonObject } from './json.ts';

/** One chat request in nobody's dialect: the dialects translate into it, the adapters out of it (rules "Chat"). */
export interface ChatRequest {
  /** Our model id; the provider's name in an `UpstreamChat`. */
  model: string;
  messages: ChatMessage[];
  /** Empty when the client offers none. */
  tools: ChatTool[];
  toolChoice?: ToolChoice;
  /** False: at most one tool call in the answer. */
  parallelToolCalls?: boolean;
  responseFormat?: ResponseFormat;
  /** Tokens of answer at most; always sent upstream, for the hold is made for it. */
  maxTokens: number;
  temperature?: number;
  topP?: number;
  topK?: number;
  stop?: string[];
  seed?: number;
  /** The client's own name for its user. */
  user?: string;
  /** Fields we do not know: sent as they are to OpenAI-compatible channels, refused by every other family. */
  extra: JsonObject;
}

export type ChatMessage =
  | { role: 'system' | 'developer'; content: ChatContent; name?: string }
  | { role: 'user'; content: ChatContent; name?: string }
  | { role: 'assistant'; content: ChatContent | null; toolCalls: ToolCall[]; name?: string }
  /** The answer to one tool call of an earlier assistant message; the dialects prove that there is one. */
  | { role: 'tool'; toolCallId: string; content: ChatContent };

export type ChatContent = string | ChatPart[];
export type ChatPart =
  | { type: 'text'; text: string }
  /** `url` is https, or a base64 `data:` URI. Only in a user's message. */
  | { type: 'image'; url: string; detail?: string };

export interface ToolCall {
  id: string;
  name: string;
  /** JSON text, as the model wrote it: it may be broken. */
  arguments: string;
  /** A provider's sealed state of its thinking, which it wants back with the call (Gemini: `thoughtSignature`). */
  signature?: string;
}

export interface ChatTool {
  name: string;
  description?: string;
  /** JSON Schema of the arguments; absent for a tool without any. */
  parameters?: JsonObject;
  strict?: boolean;
}

export type ToolChoice = 'auto' | 'none' | 'required' | { name: string };

export type ResponseFormat =
  | { type: 'text' | 'json_object' }
  | { type: 'json_schema'; name: string; description?: string; schema: JsonObject; strict?: boolean };

export interface ChatReply {
  content: string | null;
  /** The model's own words for why it does not answer. */
  refusal: string | null;
  toolCalls: ToolCall[];
  finishReason: FinishReason;
  /** Null when the provider told none, or nothing that can be read as counts. */
  usage: ChatUsage | null;
}

export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter';

/** Tokens, as the provider counts them; null where it left that count out. May be negative or absurd: see `settledUsage`. */
export interface ChatUsage {
  /** All of the prompt, cached or not. */
  inputTokens: number | null;
  /** All that was written, hidden thinking included. */
  outputTokens: number | null;
  /** The part of the input that the provider had cached. */
  cachedTokens?: number;
  /** The part of the output that was hidden thinking. */
  reasoningTokens?: number;
}

/** What an adapter is asked: the request under the provider's name of the model, and the catalog's words for it. */
export interface UpstreamChat extends ChatRequest {
  /** The catalog's `parameters` for `max_tokens` and `temperature`: another name, or null for "not sent". */
  parameters?: UpstreamMapping['parameters'];
}

/** The request as one family is asked for it. */
export const toUpstreamChat = (request: ChatRequest, mapping: UpstreamMapping): UpstreamChat => ({
  ...request,
  model: mapping.model,
  parameters: mapping.parameters,
});

/** The answer's length where the client gives none (spec §2.3). */
export const maxTokensDefault = 1_024;
export const temperatureDefault = 0.7;

/** The text of a content, its parts joined by line breaks. */
export const textOf = (content: ChatContent | null): string =>
  content === null ? '' : typeof content === 'string' ? content : content.flatMap(textOfPart).join('\n');
const textOfPart = (part: ChatPart): string[] => (part.type === 'text' ? [part.text] : []);

/** Content as parts, empty texts left out: some providers refuse an empty text block. */
export const partsOf = (content: ChatContent | null): ChatPart[] =>
  (typeof content === 'string' ? [{ type: 'text' as const, text: content }] : (content ?? [])).filter(
    (part) => part.type === 'image' || part.text !== '',
  );

/** Whether a URL carries its content in itself (RFC 2397). */
export const isDataUri = (url: string): boolean => /^data:/i.test(url);

/** The media type and the base64 text of a `data:` URI; null for any other URL (RFC 2397). */
export function splitDataUri(url: string): { mimeType: string; base64: string } | null {
  const comma = url.slice(0, 200).indexOf(',');
  const header = /^data:([\w.+-]+\/[\w.+-]+);base64$/i.exec(url.slice(0, Math.max(comma, 0)));
  return header?.[1] ? { mimeType: header[1].toLowerCase(), base64: url.slice(comma + 1) } : null;
}

/** Every image of the request, in order. */
export const listImages = (request: ChatRequest): Extract<ChatPart, { type: 'image' }>[] =>
  request.messages.flatMap(({ content }) =>
    typeof content === 'string' || content === null ? [] : content.filter((part) => part.type === 'image'),
  );

/**
 * Refuses what the model itself cannot take: `model_type_mismatch` for a model of another type, `unsupported_parameter`
 * for images where its catalog entry does not list them (spec §2.3).
 */
export function checkChatModel(model: Model, request: ChatRequest): void {
  if (model.type !== 'chat') throw new GatewayError('model_type_mismatch', { param: 'model' });
  if (model.parameters.image !== true && listImages(request).length > 0) {
    throw new GatewayError('unsupported_parameter', { param: 'messages', message: 'This model does not take images.' });
  }
}

/**
 * Refuses a conversation that no provider could answer: nothing said at all (`invalid_value` on `param`), or a tool's
 * answer without its call.
 */
export function checkConversation(messages: readonly ChatMessage[], param: string): void {
  const called = new Set<string>();
  for (const [index, message] of messages.entries()) {
    if (message.role === 'assistant') for (const { id } of message.toolCalls) called.add(id);
    if (message.role === 'tool' && !called.has(message.toolCallId)) {
      throw new GatewayError('invalid_value', {
        param: `${param}.${index}.tool_call_id`,
        message: `${param}.${index}.tool_call_id: no earlier assistant message made this call`,
      });
    }
  }
  const isSaid = messages.some(
    (message) => partsOf(message.content).length > 0 || (message.role === 'assistant' && message.toolCalls.length > 0),
  );
  if (!isSaid) throw new GatewayError('invalid_value', { param, message: `${param}: every message is empty` });
}
