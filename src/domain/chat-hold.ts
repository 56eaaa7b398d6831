import type { CatalogEntry, Pricing } from './catalog.ts';
import { isDataUri, listImages, type ChatMessage, type ChatReply, type ChatRequest } from './chat.ts';
import { GatewayError } from './errors.ts';
import { chatCredits } from './pricing.ts';

/** The worst case that credits are held for. All in tokens. */
export interface ChatHold {
  inputTokens: number;
  outputTokens: number;
  /** What the input more likely comes to: billed when the provider tells no usage, never above `inputTokens`. */
  likelyInputTokens: number;
}

/**
 * The most that a request can use: UTF-8 bytes of messages, tools and schema / 2, + 8 per message, + `imageTokens` per
 * image, data-URI bytes not counted; out = `maxTokens` (rules "Chat"). Unknown fields count too, for they may carry
 * text (OpenAI: `prediction`).
 */
export function chatHold(request: ChatRequest, imageTokens: number): ChatHold {
  const bytes =
    request.messages.reduce((sum, message) => sum + messageBytes(message), 0) +
    (request.tools.length > 0 ? jsonBytes(request.tools) : 0) +
    (request.responseFormat?.type === 'json_schema' ? jsonBytes(request.responseFormat) : 0) +
    (Object.keys(request.extra).length > 0 ? jsonBytes(request.extra) : 0);
  const apart = tokensPerMessage * request.messages.length + imageTokens * listImages(request).length;
  return {
    inputTokens: Math.ceil(bytes / bytesPerTokenMin) + apart,
    outputTokens: request.maxTokens,
    likelyInputTokens: Math.ceil(bytes / bytesPerTokenUsual) + apart,
  };
}

/** Two bytes a token is denser than any text we know of, Chinese and source code included. */
const bytesPerTokenMin = 2;
const bytesPerTokenUsual = 4;
/** A provider's own marks around each message. */
const tokensPerMessage = 8;

/** Throws `context_length_exceeded` when the hold's input is more than the model's context (rules "Limits"). */
export function checkContext({ model, private: hidden }: CatalogEntry, hold: ChatHold): void {
  if (hidden.context_tokens === null || hold.inputTokens <= hidden.context_tokens) return;
  throw new GatewayError('context_length_exceeded', {
    param: 'messages',
    message: `The messages may come to ${hold.inputTokens} tokens; ${model.id} takes ${hidden.context_tokens}.`,
  });
}

export interface SettledUsage {
  /** Tokens to bill; 0 or more. */
  input: number;
  /** Tokens to bill; 0 or more. */
  output: number;
  /** True when the provider left a count out, or gave one that is none: that part is estimated. */
  estimated: boolean;
  /** True when the answer has nothing in it: it costs nothing. */
  empty: boolean;
}

/**
 * What is billed for an answer (rules "Chat"). A count that is missing is estimated, at most up to the hold, and
 * flagged; a negative one is zero. An answer without content, without tool call *and* with zero or absent output tokens
 * is empty. The counts may be above the hold: `settledCredits` caps what they cost.
 */
export function settledUsage(reply: ChatReply, hold: ChatHold): SettledUsage {
  const told = { input: asCount(reply.usage?.inputTokens), output: asCount(reply.usage?.outputTokens) };
  const said = reply.content ?? reply.refusal ?? '';
  const empty = said === '' && reply.toolCalls.length === 0 && (told.output ?? 0) === 0;
  if (empty) return { input: 0, output: 0, estimated: false, empty };
  const writtenBytes = reply.toolCalls.reduce(
    (sum, call) => sum + utf8Bytes(call.name) + utf8Bytes(call.arguments),
    utf8Bytes(said),
  );
  return {
    input: told.input ?? Math.min(hold.likelyInputTokens, hold.inputTokens),
    output: told.output ?? Math.min(Math.ceil(writtenBytes / bytesPerTokenUsual), hold.outputTokens),
    estimated: told.input === null || told.output === null,
    empty,
  };
}

/** Far above any model's context, far below where a count times a rate would stop being exact. */
const tokensMax = 1_000_000_000;

/** A count as it can be billed; null where it is none. */
const asCount = (tokens: number | null | undefined): number | null =>
  tokens === null || tokens === undefined || !Number.isSafeInteger(tokens) || tokens > tokensMax
    ? null
    : Math.max(tokens, 0);

export interface ChatSettlement {
  /** Credits to charge: 0 for an empty answer, never more than was held. */
  credits: number;
  /** Credits by which the real usage was above the hold: the operator's loss (`credits_undercharged_total`). */
  undercharged: number;
}

/** The charge for an answer whose hold was `heldCredits`. Throws only where `chatCredits` does. */
export function settledCredits(pricing: Pricing, usage: SettledUsage, heldCredits: number): ChatSettlement {
  if (usage.empty) return { credits: 0, undercharged: 0 };
  const price = chatCredits(pricing, usage);
  return { credits: Math.min(price, heldCredits), undercharged: Math.max(price - heldCredits, 0) };
}

/** Credits to hold. Never less than any settlement within the hold's tokens, for the price grows with them. */
export const heldCredits = (pricing: Pricing, hold: ChatHold): number =>
  chatCredits(pricing, { input: hold.inputTokens, output: hold.outputTokens });

function messageBytes(message: ChatMessage): number {
  const { content } = message;
  const parts = typeof content === 'string' ? [{ type: 'text' as const, text: content }] : (content ?? []);
  const contentBytes = parts.reduce(
    (sum, part) => sum + (part.type === 'text' ? utf8Bytes(part.text) : isDataUri(part.url) ? 0 : utf8Bytes(part.url)),
    0,
  );
  if (message.role === 'tool') return contentBytes + utf8Bytes(message.toolCallId);
  const nameBytes = utf8Bytes(message.name ?? '');
  if (message.role !== 'assistant') return contentBytes + nameBytes;
  const callBytes = message.toolCalls.reduce(
    (sum, call) =>
      sum + utf8Bytes(call.id) + utf8Bytes(call.name) + utf8Bytes(call.arguments) + utf8Bytes(call.signature ?? ''),
    0,
  );
  return contentBytes + nameBytes + callBytes;
}

const jsonBytes = (value: unknown): number => utf8Bytes(JSON.stringify(value));

/** Length in UTF-8 without a copy of the text: a body may be megabytes. */
export function utf8Bytes(text: string): number {
  let bytes = text.length;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    // Each half of a surrogate pair counts 2, together the 4 bytes of its character.
    if (unit > 0x7f) bytes += unit > 0x7ff && (unit < 0xd800 || unit > 0xdfff) ? 2 : 1;
  }
  return bytes;
}
