import type { Model, UpstreamMapping } from '../catalog/catalog.ts';
import type { TokenPart } from '../catalog/token-classes.ts';
import { GatewayError } from '../errors.ts';
import type { TraceContent } from '../projects/trace-content.ts';
import type { JsonObject } from '../json.ts';
import type { SignedThought, Thinking, ThoughtKind } from './thoughts.ts';

/** The canonical chat request. Dialects translate into it, adapters translate from it (rules "Chat"). */
export interface ChatRequest {
  /** Our model id. In an `UpstreamChat`: the provider's name of the model. */
  model: string;
  messages: ChatMessage[];
  /** Empty if the client offers no tools. */
  tools: ChatTool[];
  toolChoice?: ToolChoice;
  /** False allows at most one tool call in the answer. */
  parallelToolCalls?: boolean;
  responseFormat?: ResponseFormat;
  /** The most tokens of output. Always sent upstream, because the hold covers exactly this many. */
  maxTokens: number;
  /** The client named no `max_tokens`, so a model may have a default of its own. */
  isDefaultLength?: true;
  temperature?: number;
  /** The client named no temperature, so that it may be left out without a word. */
  isDefaultTemperature?: true;
  topP?: number;
  topK?: number;
  stop?: string[];
  seed?: number;
  /** How much of the content the project lets traces have. Absent: nothing. */
  traceContent?: TraceContent;
  /** The client's identifier of its end user. */
  user?: string;
  /** How the client wants the model to think, beside its effort (`extra.reasoning_effort`). */
  thinking?: Thinking;
  /** The last message is the beginning of the answer, which the model continues. */
  isPrefilled?: true;
  /** Fields of Gemini's own request, which other families cannot take. */
  gemini?: { thinkingConfig?: JsonObject; safetySettings?: JsonObject[] };
  /**
   * Further fields, as the client sent them. They are sent to channels whose `pass_through` lists them; every other is refused, or left out if
   * the request is tolerant.
   */
  extra: JsonObject;
  /** Fields of one vendor's API that only its own family is sent. */
  vendor?: VendorFields;
  /** The request came by a route of the specification, which answers as it always did. */
  isOfSpec?: true;
  /**
   * The dotted paths of the fields that the dialect left out, in the client's words. Present if and only if the request is tolerant: what a
   * family cannot carry is then left out and named instead of refused (rules "Chat").
   */
  leftOut?: readonly string[];
}

/** Whose API a field belongs to. */
export type VendorApi = 'anthropic' | 'responses' | 'gemini';

/** Fields that the API of one vendor knows and no other family does, as the client sent them. */
export interface VendorFields {
  api: VendorApi;
  /** The client's beta features, of which the adapter sends those that it knows. */
  betas?: readonly string[];
  /** Fields of the request itself. Those of its tools and messages stand at `ChatTool.vendor` and at `vendor` of a message. */
  fields: JsonObject;
  /** The dotted paths of all of them. */
  paths: readonly string[];
  /** The further fields that say the same in shared words. The vendor's own family is not sent them. */
  shared?: readonly string[];
}

export type ChatMessage =
  | { role: 'system' | 'developer'; content: ChatContent; name?: string; vendor?: JsonObject }
  | { role: 'user'; content: ChatContent; name?: string; vendor?: JsonObject }
  | AssistantMessage
  | ToolMessage;

export interface AssistantMessage {
  role: 'assistant';
  content: ChatContent | null;
  toolCalls: ToolCall[];
  /** The thoughts that an earlier answer came with. Sent to mappings with `keeps_reasoning` only. */
  reasoning?: string;
  /** The same, as their own family wants them back. */
  thoughts?: SignedThought[];
  name?: string;
  vendor?: JsonObject;
}

export interface ToolMessage {
  role: 'tool';
  /** The id of the tool call that this message answers. Dialects check that an earlier assistant message has this call. */
  toolCallId: string;
  content: ChatContent;
  /** The tool failed, and the content says why. */
  isError?: true;
  vendor?: JsonObject;
}

export type ChatContent = string | ChatPart[];
export type ChatPart =
  /**
   * `toolReference`: the text says that this tool was found. `document`: the text is a document. Anthropic is sent both in its own words, and other
   * families are sent a document's title and context before its text (`carriedParts`).
   */
  (
    | { type: 'text'; text: string; toolReference?: string; document?: DocumentWords }
    /** `url` is an https URL or a base64 `data:` URI. Only user and tool messages have images. */
    | { type: 'image'; url: string; detail?: string }
    | PdfPart
  ) & { cacheControl?: CacheControl };

export type ChatPicture = Extract<ChatPart, { type: 'image' }>;

/** A PDF, by https URL or as a base64 `data:` URI. Only user and tool messages have documents. */
export interface PdfPart extends DocumentWords {
  type: 'document';
  url: string;
  /** Where the part stands in the client's request, in its words: `messages.0.content.1`. */
  at: string;
  /** The name of the file. */
  name?: string;
  detail?: string;
  /** What it has at most; null if that is not known. Absent until it is measured. */
  size?: PdfSize | null;
}
export interface DocumentWords {
  title?: string;
  /** What the model should know about the document. */
  context?: string;
}
/** What a PDF has at most. */
export interface PdfSize {
  pages: number;
  /** The bytes of the texts that its pages show. */
  textBytes: number;
}

/** Asks Anthropic to cache the prompt up to this point. Other families cache by themselves and are not sent it. */
export type CacheControl = { type: 'ephemeral'; ttl?: '5m' | '1h'; scope?: string };

export interface ToolCall {
  id: string;
  name: string;
  /** JSON text as the model wrote it. It may be malformed. */
  arguments: string;
  /** Opaque reasoning state that the provider expects back with the call (Gemini: `thoughtSignature`). */
  signature?: string;
  cacheControl?: CacheControl;
  /** The call of a tool with free text (`ChatTool.custom`). The text is `input` of the arguments. */
  isCustom?: true;
}

export interface ChatTool {
  name: string;
  description?: string;
  /** JSON Schema of the arguments. Absent for a tool without arguments. */
  parameters?: JsonObject;
  strict?: boolean;
  cacheControl?: CacheControl;
  /**
   * The input is free text. A family that knows such tools is sent these fields, any other one a function with the one string `input`, which
   * `description` and `parameters` describe.
   */
  custom?: { description?: string; format?: JsonObject };
  /** The client's namespace of the tool, and its name there. Families are sent `name` alone. */
  group?: { namespace: string; name: string };
  /** Fields of the tool that only the family of `ChatRequest.vendor` is sent. */
  vendor?: JsonObject;
}

export type ToolChoice = 'auto' | 'none' | 'required' | { name: string };

export type ResponseFormat =
  | { type: 'text' | 'json_object' }
  | { type: 'json_schema'; name: string; description?: string; schema: JsonObject; strict?: boolean };

export interface ChatReply {
  content: string | null;
  /** The model's thoughts, or a summary of them, if the provider shows them. No part of the answer. */
  reasoning?: string;
  /** The signed thoughts, in order. If there are any, their texts are all of `reasoning`. */
  thoughts?: SignedThought[];
  /** The model's own explanation of why it does not answer. */
  refusal: string | null;
  toolCalls: ToolCall[];
  finishReason: FinishReason;
  /** The counts came before the end of the answer, so that more may have been written since. */
  hasInterimCounts?: true;
  /** The stop sequence that ended the answer, if the provider names it. */
  stopSequence?: string;
  /** Null if the provider reported no usage, or none that can be read as counts. */
  usage: ChatUsage | null;
}

export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter';

/** Token counts as the provider reports them; null for a missing count. May be negative or implausible: see `settledUsage`. */
export interface ChatUsage extends ReportedParts {
  /** The whole prompt, cached or not. */
  inputTokens: number | null;
  /** The whole output, hidden reasoning included. */
  outputTokens: number | null;
}
/** The parts of the two that have a class of their own (`tokenClassTable`): `cachedTokens`, `reasoningTokens`, … */
type ReportedParts = { [Part in TokenPart as `${Part}Tokens`]?: number };

/** What an adapter gets: the request with the provider's name of the model, and the catalog's parameter mapping. */
export interface UpstreamChat extends ChatRequest {
  /** The catalog's mapping of `max_tokens` and `temperature` to another name. A parameter mapped to null is already left out. */
  parameters?: UpstreamMapping['parameters'];
  /** Fields of the catalog that are always sent, beside the model or, for Gemini, in `generationConfig`. */
  fixed?: JsonObject;
  /** What the catalog says about the model at this family. */
  traits?: Pick<UpstreamMapping, TraitName>;
}
type TraitName =
  'thinking' | 'thinking_off' | 'efforts' | 'api' | 'vendor' | 'keeps_reasoning' | 'system_turns' | 'pass_through';

/** The request as it is sent to one family: without the parameters that the catalog maps to null. */
export function toUpstreamChat(
  request: ChatRequest,
  mapping: Pick<UpstreamMapping, 'model' | 'parameters' | 'fixed' | TraitName>,
): UpstreamChat {
  const { model, parameters, fixed, thinking, thinking_off, efforts, api, vendor } = mapping;
  const { keeps_reasoning, system_turns, pass_through } = mapping;
  const traits = { thinking, thinking_off, efforts, api, vendor, keeps_reasoning, system_turns, pass_through };
  return { ...withoutUnsent(request, parameters), model, parameters, traits, ...(fixed !== undefined && { fixed }) };
}

/** The request without the parameters that the catalog maps to null for a family. */
export function withoutUnsent(request: ChatRequest, parameters: UpstreamMapping['parameters']): ChatRequest {
  const unsent = Object.entries(unsentMembers).filter(([key]) => parameters[key] === null);
  if (unsent.length === 0) return request;
  return { ...request, ...Object.fromEntries(unsent.map(([, member]) => [member, undefined])) };
}

/** The parameters of a chat that a mapping may leave out. `max_tokens` is always sent, because credits are held for it. */
export const unsentMembers = { temperature: 'temperature', top_p: 'topP', top_k: 'topK', stop: 'stop' } as const;

/**
 * Further fields of a chat that some OpenAI-compatible vendors lack or name otherwise. `name` is that of a message. They do not change the
 * answer, or a family that has them under no name keeps them: only `seed` can be renamed.
 */
export const vendorFields: readonly string[] = ['seed', 'user', 'name', 'stream_options', 'prompt_cache_key'];

/** The output limit if the client sends none (spec §2.3). */
const maxTokensDefault = 1_024;
/** The length of a request that names `maxTokens` or nothing. */
export const toLength = (maxTokens: number | null | undefined): Pick<ChatRequest, 'maxTokens' | 'isDefaultLength'> =>
  typeof maxTokens === 'number' ? { maxTokens } : { maxTokens: maxTokensDefault, isDefaultLength: true };
/**
 * The temperature that a request names. If it names none: 0.7 (spec §2.3), or none beside a `top_p` of the client. Both settle the same
 * choice, and some models refuse a request with the two.
 */
export const toTemperature = (
  temperature: number | null | undefined,
  topP: number | null | undefined,
): Pick<ChatRequest, 'temperature' | 'isDefaultTemperature'> => {
  if (typeof temperature === 'number') return { temperature };
  return typeof topP === 'number' ? {} : { temperature: 0.7, isDefaultTemperature: true };
};

/** The text of a message's content. Parts are joined by line breaks. */
export const textOfContent = (content: ChatContent | null): string =>
  content === null ? '' : typeof content === 'string' ? content : content.flatMap(textOfPart).join('\n');
const textOfPart = (part: ChatPart): string[] => (part.type === 'text' ? [part.text] : []);

/** Content as parts, without empty texts: some providers refuse an empty text block. */
export const partsOfContent = (content: ChatContent | null): ChatPart[] =>
  (typeof content === 'string' ? [{ type: 'text' as const, text: content }] : (content ?? [])).filter(
    (part) => part.type !== 'text' || part.text !== '',
  );

/** Whether a part is a text of white space alone. */
export const isBlank = (part: ChatPart): boolean => part.type === 'text' && part.text.trim() === '';

/** The request with only those thoughts of earlier answers that a provider is sent. */
export const withThoughts = (
  request: ChatRequest,
  { isReasoningKept, kinds }: { isReasoningKept: boolean; kinds: readonly ThoughtKind[] },
): ChatRequest => ({
  ...request,
  messages: request.messages.map((message) => {
    if (message.role !== 'assistant') return message;
    const { reasoning, thoughts = [], ...rest } = message;
    const sent = thoughts.filter(({ kind }) => kinds.includes(kind));
    return {
      ...rest,
      ...(isReasoningKept && reasoning !== undefined && { reasoning }),
      ...(sent.length > 0 && { thoughts: sent }),
    };
  }),
});

/** Whether this is a `data:` URI (RFC 2397). */
export const isDataUri = (url: string): boolean => /^data:/i.test(url);

/** The media type and the base64 text of a `data:` URI; null for any other URL (RFC 2397). */
export function splitDataUri(url: string): { mimeType: string; base64: string } | null {
  const comma = url.slice(0, 200).indexOf(',');
  const header = /^data:([\w.+-]+\/[\w.+-]+);base64$/i.exec(url.slice(0, Math.max(comma, 0)));
  return header?.[1] ? { mimeType: header[1].toLowerCase(), base64: url.slice(comma + 1) } : null;
}

/** Every image of the request, in order. */
export const listImages = (request: ChatRequest): ChatPicture[] =>
  request.messages.flatMap(({ content }) =>
    typeof content === 'string' || content === null ? [] : content.filter((part) => part.type === 'image'),
  );

/**
 * Refuses a request that the model does not support: `model_type_mismatch` for a model of another type,
 * `unsupported_parameter` for images if the catalog entry does not list them (spec §2.3).
 */
export function checkChatModel(model: Model, request: ChatRequest): void {
  if (model.type !== 'chat')
    throw new GatewayError('model_type_mismatch', {
      message: `${model.id} is ${model.type === 'image' ? 'an' : 'a'} ${model.type} model and cannot be used for chats.`,
      param: 'model',
    });
  if (model.parameters.image !== true && listImages(request).length > 0) {
    throw new GatewayError('unsupported_parameter', {
      param: 'messages',
      message: `messages: the model ${model.id} does not take images.`,
    });
  }
}

/**
 * Refuses a conversation that no provider can answer: one without any content (`invalid_value` on `param`), or a tool result
 * without its call.
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
  const hasContent = messages.some(
    (message) =>
      partsOfContent(message.content).length > 0 || (message.role === 'assistant' && message.toolCalls.length > 0),
  );
  if (!hasContent) throw new GatewayError('invalid_value', { param, message: `${param}: every message is empty` });
}
