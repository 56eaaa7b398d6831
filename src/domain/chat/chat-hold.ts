import type { CatalogEntry } from '../catalog/catalog.ts';
import type { Pricing } from '../catalog/price-schema.ts';
import { listDocuments, tokensOfDocuments, type DocumentTokens } from './documents.ts';
import { isDataUri, listImages, type ChatMessage, type ChatPart, type ChatReply, type ChatRequest } from './chat.ts';
import { maxOutputTokens } from './chat-length.ts';
import { GatewayError } from '../errors.ts';
import { ofEachPart, partsWithin, type TokenPart, type TokenParts, type TokenUsage } from '../catalog/token-classes.ts';
import { chatCredits, dearestCredits } from '../ledger/pricing.ts';
import { likelyTokens } from './likely-tokens.ts';
import { rareScriptBytes, utf8Bytes } from './text-size.ts';

/** The worst case that credits are held for, in tokens. */
export interface ChatHold {
  inputTokens: number;
  outputTokens: number;
  /** The likely input. Billed if the provider reports no usage. Never above `inputTokens`. */
  likelyInputTokens: number;
  /** The part of the input that is no text: what a provider adds around each message, the images and likely of the documents. */
  apartTokens: number;
}

/**
 * The most tokens that a request can use. Input: half of the UTF-8 bytes of messages, tools and schema, but all bytes of rare
 * scripts, + 8 per message, + `imageTokens` per image; bytes of data URIs do not count. Output: `maxTokens` (rules "Chat").
 * Fields that are passed through count too, because they may carry text.
 */
export function chatHold(request: ChatRequest, imageTokens: number, documentTokens?: DocumentTokens): ChatHold {
  let bytes = 0;
  let rareBytes = 0;
  let likely = 0;
  for (const text of countedTexts(request)) {
    const size = utf8Bytes(text);
    bytes += size;
    if (size !== text.length) rareBytes += rareScriptBytes(text);
    likely += likelyTokens(text);
  }
  const apart = tokensPerMessage * request.messages.length + imageTokens * listImages(request).length;
  const documents = documentTokens ? tokensOfDocuments(listDocuments(request), documentTokens) : { most: 0, likely: 0 };
  const inputTokens = Math.ceil((bytes - rareBytes) / bytesPerTokenMin) + rareBytes + apart + documents.most;
  return {
    inputTokens,
    outputTokens: request.maxTokens,
    likelyInputTokens: Math.min(Math.ceil(likely) + apart + documents.likely, inputTokens),
    apartTokens: apart + documents.likely,
  };
}

/**
 * Running text in the well-known scripts has at least two bytes per token. Scripts that a tokenizer does not know, such as
 * Cherokee, Mongolian and Yi, have one.
 */
const bytesPerTokenMin = 2;
/** The tokens that a provider adds around each message. */
const tokensPerMessage = 8;

/** More than any context holds. To count 30 MB takes a fifth of a second of the event loop. */
const TEXT_CHARACTERS_MAX = 12_000_000;

/** Throws `context_length_exceeded` for texts that are too long to be counted (rules "Limits"). */
export function checkTextLength({ messages }: ChatRequest): void {
  let characters = 0;
  for (const message of messages) for (const text of textsOfMessage(message)) characters += text.length;
  if (characters <= TEXT_CHARACTERS_MAX) return;
  throw new GatewayError('context_length_exceeded', {
    param: 'messages',
    message:
      `The prompt is too long: it has ${characters} characters of text, and at most ${TEXT_CHARACTERS_MAX} are accepted, pictures not counted. ` +
      `It exceeds the context window of every model.`,
  });
}

/**
 * Throws `context_length_exceeded` when the likely input is more than the model's context (rules "Limits"). The worst case would
 * refuse texts that fit. The provider refuses those that do not, and such a chat costs nothing.
 */
export function checkContext({ model, private: hidden }: CatalogEntry, hold: ChatHold): void {
  if (hidden.context_tokens === null || hold.likelyInputTokens <= hidden.context_tokens) return;
  const [tokens, most] = [hold.likelyInputTokens, hidden.context_tokens];
  throw new GatewayError('context_length_exceeded', {
    param: 'messages',
    // Claude Code and Crush read the counts from the sentences of Anthropic and OpenAI.
    message:
      `The prompt is too long: ${tokens} tokens > ${most} maximum. This model's maximum context length is ${most} tokens, and the messages resulted in ` +
      `${tokens} tokens (estimated for ${model.id}).`,
  });
}

/** Tokens to bill, each at least 0 and each part within its whole. A part that the provider did not report is absent. */
export interface SettledUsage extends TokenUsage {
  /** True if the provider omitted a count or sent an unusable one, so that this part is estimated. */
  estimated: boolean;
  /** True if the answer is empty. An empty answer costs the client nothing. */
  empty: boolean;
}

/** The tokens of a chat's texts by a tokenizer of its model. */
export interface CountedTokens {
  input: number;
  output: number;
}

/** The texts of a request that count as input. */
export const inputTexts = (request: ChatRequest): string[] => [...countedTexts(request)];

/** The texts of an answer that count as output. */
export const outputTexts = ({ content, refusal, reasoning, toolCalls }: ChatReply): string[] =>
  [content, refusal, reasoning, ...toolCalls.flatMap((call) => [call.name, call.arguments])].filter(
    (text) => typeof text === 'string',
  );

/** The most tokens that a provider can have counted. More is a fault of its counter. */
export interface PlausibleCounts {
  input: number;
  output: number;
}

/** Far above the context of any model, and low enough that a count times a rate stays exact. */
const tokensMax = 1_000_000_000;
const anyCount: PlausibleCounts = { input: tokensMax, output: tokensMax };

/**
 * The most tokens that a model can read and write: twice its context, because a catalog may lag behind a model, and twice its longest
 * answer, because some providers count thoughts on top of `max_tokens`.
 */
export function plausibleCounts(entry: CatalogEntry, { maxTokens }: ChatRequest): PlausibleCounts {
  const { context_tokens: context, max_output_tokens: output } = entry.private;
  const longest = Math.max(maxOutputTokens(entry), maxTokens, output === undefined ? (context ?? 0) : 0);
  return { input: Math.min((context ?? tokensMax) * 2, tokensMax), output: longest * 2 };
}

/** The counts of the provider that can be billed; null for a missing or an unusable one. A count of zero that cannot be true is missing. */
function reportedCounts(reply: ChatReply, plausible: PlausibleCounts) {
  const { inputTokens, outputTokens } = reply.usage ?? {};
  const isWritten = outputTexts(reply).some((text) => text !== '');
  return {
    // Every prompt has tokens.
    input: inputTokens === 0 ? null : asCount(inputTokens, plausible.input),
    output: outputTokens === 0 && isWritten ? null : asCount(outputTokens, plausible.output),
  };
}

/** Whether the texts have to be counted: the provider omitted a count or sent an unusable one, or its counts are not final. */
export function needsCounting(reply: ChatReply, plausible: PlausibleCounts): boolean {
  const reported = reportedCounts(reply, plausible);
  return reply.hasInterimCounts === true || reported.input === null || reported.output === null;
}

/** Whether the provider reports more tokens than its model can have. */
export const isAbsurd = ({ usage }: Pick<ChatReply, 'usage'>, plausible: PlausibleCounts): boolean =>
  (usage?.inputTokens ?? 0) > plausible.input || (usage?.outputTokens ?? 0) > plausible.output;

/**
 * The usage that is billed for an answer (rules "Chat"). A missing or absurd count is estimated, at most up to the hold, and flagged. A
 * negative count is zero, and a count of zero is missing where it cannot be true. Of counts that came before
 * the end of the answer, the larger of the reported and the estimated output. Where the whole is estimated, its parts are not known: it is plain. An answer is empty if it has no content, no tool call *and* zero or absent output tokens. Counts may exceed
 * the hold: `settledCredits` caps what they cost.
 */
export function settledUsage(
  reply: ChatReply,
  hold: ChatHold,
  counted: CountedTokens | null = null,
  plausible = anyCount,
): SettledUsage {
  const reported = reportedCounts(reply, plausible);
  const empty = (reported.output ?? 0) === 0 && outputTexts(reply).every((text) => text === '');
  if (empty) return { input: 0, output: 0, estimated: false, empty };
  const likely = reported.output === null || reply.hasInterimCounts ? likelyOutput(reply, hold, counted) : 0;
  const input = reported.input ?? likelyInput(hold, counted);
  const output = Math.max(reported.output ?? 0, likely);
  return {
    input,
    output,
    ...settledParts(reply, {
      input: reported.input === null ? 0 : input,
      output: reported.output === null ? 0 : output,
    }),
    estimated: reported.input === null || reported.output === null || likely > reported.output,
    empty,
  };
}

/** The reported parts of what was counted, each token in one of them. */
function settledParts({ usage }: ChatReply, wholes: { input: number; output: number }): TokenParts {
  const counts = ofEachPart((part) => asCount(usage?.[`${part}Tokens`]));
  const parts = Object.entries(partsWithin(wholes, counts));
  return Object.fromEntries(parts.filter(([part]) => counts[part as TokenPart] !== null));
}

const likelyInput = (hold: ChatHold, counted: CountedTokens | null): number =>
  Math.min(counted ? counted.input + hold.apartTokens : hold.likelyInputTokens, hold.inputTokens);

function likelyOutput(reply: ChatReply, hold: ChatHold, counted: CountedTokens | null): number {
  const likely = counted?.output ?? outputTexts(reply).reduce((sum, text) => sum + likelyTokens(text), 0);
  return Math.min(Math.ceil(likely), hold.outputTokens);
}

/** The tokens that the provider bills the operator for an answer. Unlike the client, the operator pays for an empty answer too. */
export function billedTokens({ usage }: Pick<ChatReply, 'usage'>, settled: SettledUsage): Required<TokenUsage> {
  const { input, output } = settled.empty
    ? { input: asCount(usage?.inputTokens) ?? 0, output: asCount(usage?.outputTokens) ?? 0 }
    : settled;
  return { input, output, ...ofEachPart((part) => asCount(usage?.[`${part}Tokens`]) ?? 0) };
}

/** A count that can be billed, or null if the value is not a count. */
const asCount = (tokens: number | null | undefined, most = tokensMax): number | null =>
  tokens === null || tokens === undefined || !Number.isSafeInteger(tokens) || tokens > most
    ? null
    : Math.max(tokens, 0);

export interface SettledCredits {
  /** Credits to charge: 0 for an empty answer, never more than was held. */
  credits: number;
  /** Credits by which the actual usage exceeds the hold. The operator bears them (`credits_undercharged_total`). */
  undercharged: number;
}

/** The charge for an answer whose hold was `heldCredits`. Throws only if `chatCredits` throws. */
export function settledCredits(pricing: Pricing, usage: SettledUsage, heldCredits: number): SettledCredits {
  if (usage.empty) return { credits: 0, undercharged: 0 };
  const price = chatCredits(pricing, usage);
  return { credits: Math.min(price, heldCredits), undercharged: Math.max(price - heldCredits, 0) };
}

/** Credits to hold. At least as much as any settlement within the hold's tokens, because it is for the dearest class of tokens. */
export const heldCredits = (pricing: Pricing, hold: ChatHold): number =>
  dearestCredits(pricing, { input: hold.inputTokens, output: hold.outputTokens });

/** Every text of the request that the provider counts as input. */
function* countedTexts({ messages, tools, responseFormat, extra }: ChatRequest): Generator<string> {
  for (const message of messages) yield* textsOfMessage(message);
  if (tools.length > 0) yield JSON.stringify(tools);
  if (responseFormat?.type === 'json_schema') yield JSON.stringify(responseFormat);
  if (Object.keys(extra).length > 0) yield JSON.stringify(extra);
}

function wordsOfDocument(part: Exclude<ChatPart, { type: 'image' }>): string[] {
  if (part.type === 'text') return [part.document?.title ?? '', part.document?.context ?? ''];
  return [part.title ?? '', part.context ?? '', part.name ?? ''];
}

function* textsOfMessage(message: ChatMessage): Generator<string> {
  const { content } = message;
  if (typeof content === 'string') yield content;
  else {
    for (const part of content ?? []) {
      if (part.type === 'text') yield part.text;
      else if (!isDataUri(part.url)) yield part.url;
      if (part.type !== 'image') yield* wordsOfDocument(part);
    }
  }
  yield message.role === 'tool' ? message.toolCallId : (message.name ?? '');
  if (message.role !== 'assistant') return;
  if (message.reasoning !== undefined) yield message.reasoning;
  for (const { text, signature } of message.thoughts ?? []) yield* [text, signature];
  for (const { id, name, arguments: text, signature } of message.toolCalls) yield* [id, name, text, signature ?? ''];
}
