import { z } from 'zod';
import type {
  ChatContent,
  ChatMessage,
  ChatPart,
  ChatReply,
  ChatUsage,
  ResponseFormat,
  ToolCall,
  UpstreamChat,
} from '../domain/chat/chat.ts';
import type { JsonObject, JsonValue } from '../domain/json.ts';
import { optionalNamesIn, optionalFieldsOf } from '../domain/chat/optional-parameters.ts';
import type { Adapter } from './channel.ts';
import { bearerAuthorization, type RequestBody, type UpstreamCaller } from './upstream/call-upstream.ts';
import { replyOfEvents } from './chat/chat-events.ts';
import { fieldsIn, fieldsInEach, firstFieldsIn, textIn } from './chat/event-fields.ts';
import { pdfNameOf, resultText, filesAfterResults } from './chat/sent-messages.ts';
import type { FailedAnswer } from './upstream/classify-outcome.ts';
import { familyCalls } from './upstream/family-calls.ts';
import { ProviderModelList } from './upstream/list-models.ts';
import { readOpenaiError } from './upstream/openai-error.ts';
import { openaiMedia } from './media/openai-media.ts';
import { responsesSupports, toResponsesBody, toResponsesReply } from './chat/openai-responses.ts';
import { responsesEvents } from './chat/openai-responses-stream.ts';
import { openaiToolRules } from './chat/tool-words.ts';
import { openaiEvents } from './chat/openai-stream.ts';
import { forVendor, vendorWarnings } from './chat/openai-vendor-request.ts';
import { openaiVendors } from './chat/openai-vendors.ts';
import { tokenCount, wholeUsage } from './chat/whole-usage.ts';

/**
 * Chat completions of OpenAI and of compatible providers. Base URL `https://api.openai.com/v1`.
 *
 * Read on 2026-11-22: https://platform.openai.com/docs/api-reference/chat/create, …/chat/object,
 * https://platform.openai.com/docs/guides/error-codes, the types of `openai` 7.57.0 and
 * https://api-docs.deepseek.com/guides/thinking_mode.
 *
 * OpenAI's reasoning models refuse `max_tokens` and every temperature but 1. Compatible providers accept `max_tokens` only. The
 * catalog says what a model accepts: `parameters: {max_tokens: {name: max_completion_tokens}, temperature: null}`.
 */
export function createOpenai(caller: UpstreamCaller): Adapter {
  const { chatBy, chatStreamBy, probeBy, openaiListBy } = familyCalls(caller, {
    headers: bearerAuthorization,
    toolRules: (request) => openaiToolRules(usesResponses(request) ? 64 : 40),
    readError: readOpenaiError,
  });
  return {
    chatSupports: {
      parameters: [...optionalNamesIn('openai').map(({ parameter }) => parameter), 'parallel_tool_calls'],
      stopMax: 4,
      blankStops: true,
      toolsMax: 128,
      documents: {},
      extra: true,
    },
    responsesSupports,
    chatVendors: openaiVendors,
    chatWarnings: vendorWarnings,
    tokenizer: 'o200k',
    stopsAtHangUp: true,
    ...openaiMedia(caller),
    chat: chatBy(pathOf, (request) => (usesResponses(request) ? toResponsesBody(request) : toBody(request)), replyOf),
    chatStream: chatStreamBy(pathOf, toStreamBody, {
      events: (request) => (usesResponses(request) ? responsesEvents() : openaiEvents(toUsage)),
      reply: replyOf,
    }),
    probe: probeBy('/models', ProviderModelList),
    listModels: openaiListBy('/models'),
  };
}

const usesResponses = ({ traits }: UpstreamChat): boolean => traits?.api === 'responses';
const pathOf = (request: UpstreamChat): string => (usesResponses(request) ? '/responses' : '/chat/completions');
const replyOf = (json: unknown, request: UpstreamChat) =>
  usesResponses(request) ? toResponsesReply(json) : toReply(json);

function toBody(chat: UpstreamChat): RequestBody {
  const request = forVendor(chat);
  const { responseFormat: format, toolChoice: choice } = request;
  return {
    // First, so that a further field cannot replace a priced one.
    ...taken(request, request.extra),
    model: request.model,
    messages: toMessages(request).map((message) => taken(request, message)),
    ...named(request, 'max_tokens', request.maxTokens),
    ...named(request, 'temperature', request.temperature),
    top_p: request.topP,
    ...taken(request, { n: 1 }),
    ...namedAll(request, optionalFieldsOf('openai', request)),
    ...named(request, 'user', request.user),
    ...(request.tools.length > 0 && {
      tools: request.tools.map(({ name, description, parameters, strict }) => ({
        type: 'function',
        function: { name, description, parameters, strict },
      })),
      parallel_tool_calls: request.parallelToolCalls,
      tool_choice: typeof choice === 'object' ? { type: 'function', function: { name: choice.name } } : choice,
    }),
    response_format: format && toFormat(format),
    stream: false,
    ...request.fixed,
  };
}

/** Without `include_usage` a streamed chat completion has no counts. */
const toStreamBody = (request: UpstreamChat): RequestBody =>
  usesResponses(request)
    ? { ...toResponsesBody(request), stream: true }
    : { ...toBody(request), stream: true, ...taken(forVendor(request), { stream_options: { include_usage: true } }) };

function toFormat({ type, ...schema }: ResponseFormat): RequestBody {
  return type === 'json_schema' ? { type, json_schema: schema } : { type };
}

/** The fields without those that the catalog maps to null for the vendor: some refuse a field that they do not know (Mistral). */
const taken = ({ parameters }: UpstreamChat, fields: RequestBody): RequestBody =>
  Object.fromEntries(Object.entries(fields).filter(([key]) => parameters?.[key] !== null));

const namedAll = (request: UpstreamChat, fields: Record<string, JsonValue | undefined>): JsonObject =>
  Object.fromEntries(Object.entries(fields).flatMap(([key, value]) => Object.entries(named(request, key, value))));

function named(request: UpstreamChat, key: string, value: JsonValue | undefined): JsonObject {
  const rule = request.parameters?.[key];
  if (rule === null) return {};
  const names = rule ? [rule].flat().map(({ name }) => name) : [key];
  return value === undefined ? {} : Object.fromEntries(names.map((name) => [name, value]));
}

/**
 * DeepSeek and Kimi refuse an agent loop without the thoughts of its earlier turns, and take a blank for thoughts that the client
 * dropped. Without tools they ignore thoughts, and most other providers refuse the field.
 */
function toMessages({ messages, traits }: UpstreamChat): RequestBody[] {
  const keeps = traits?.keeps_reasoning === true && messages.some(({ role }) => role === 'tool');
  return filesAfterResults(messages.filter(saysSomething)).map((message) => ({
    ...toMessage(message),
    ...(keeps && message.role === 'assistant' && { reasoning_content: message.reasoning || ' ' }),
  }));
}

/** Providers refuse a turn of which nothing is left, such as one that had thoughts only. An empty text of the client is content. */
const saysSomething = (message: ChatMessage): boolean =>
  (message.role === 'assistant' && message.toolCalls.length > 0) ||
  typeof message.content === 'string' ||
  (message.content ?? []).length > 0 ||
  message.role === 'tool';

function toMessage(message: ChatMessage): RequestBody {
  if (message.role === 'tool') {
    return { role: 'tool', tool_call_id: message.toolCallId, content: resultText(message) };
  }
  // OpenAI accepts `developer` and `system`, compatible providers accept `system` only.
  const role = message.role === 'developer' ? 'system' : message.role;
  const calls = message.role === 'assistant' ? message.toolCalls.map(toToolCall) : [];
  return {
    role,
    content: message.content && toContent(message.content),
    name: message.name,
    tool_calls: calls.length > 0 ? calls : undefined,
  };
}

/** One text is sent as text, because some compatible providers take no list of parts. */
function toContent(content: ChatContent): string | (JsonObject | RequestBody)[] {
  if (typeof content === 'string') return content;
  const [first] = content;
  return content.length === 1 && first?.type === 'text' ? first.text : content.map(toPart);
}

function toPart(part: ChatPart): JsonObject | RequestBody {
  if (part.type === 'text') return { type: 'text', text: part.text };
  return part.type === 'document'
    ? { type: 'file', file: { filename: pdfNameOf(part), file_data: part.url } }
    : { type: 'image_url', image_url: { url: part.url, detail: part.detail } };
}

const toToolCall = ({ id, name, arguments: text }: ToolCall): JsonObject => ({
  id,
  type: 'function',
  function: { name, arguments: text },
});

const OpenaiUsage = z.object({
  prompt_tokens: tokenCount,
  /** DeepSeek. */
  prompt_cache_hit_tokens: tokenCount,
  completion_tokens: tokenCount,
  total_tokens: tokenCount,
  prompt_tokens_details: z.object({ cached_tokens: tokenCount, cache_write_tokens: tokenCount }).nullish().catch(null),
  completion_tokens_details: z.object({ reasoning_tokens: tokenCount }).nullish().catch(null),
});

/** A whole completion is the only chunk of a streamed one, with a number for each of its calls. */
function toReply(json: unknown): ChatReply | 'blocked' | FailedAnswer | null {
  const completion = fieldsIn(json);
  const choice = firstFieldsIn(completion?.choices);
  const message = fieldsIn(choice?.message);
  const { content = null, tool_calls: calls = null } = message ?? {};
  const hasCalls =
    calls === null || (Array.isArray(calls) && calls.every((call) => textIn(fieldsIn(fieldsIn(call)?.function)?.name)));
  const hasContent = content === null || typeof content === 'string' || Array.isArray(content);
  if (!message || !hasCalls || !hasContent) return null;
  const delta = { ...message, tool_calls: fieldsInEach(calls).map((call, index) => ({ ...call, index })) };
  return replyOfEvents(
    openaiEvents(toUsage),
    [{ ...completion, choices: [{ ...choice, delta }] }],
    content === null ? null : '',
  );
}

function toUsage(json: unknown): ChatUsage | null {
  const usage = OpenaiUsage.safeParse(json).data;
  if (!usage) return null;
  return wholeUsage({
    prompt: usage.prompt_tokens,
    completion: usage.completion_tokens,
    total: usage.total_tokens,
    cached: usage.prompt_tokens_details?.cached_tokens ?? usage.prompt_cache_hit_tokens,
    cacheWrite: usage.prompt_tokens_details?.cache_write_tokens,
    reasoning: usage.completion_tokens_details?.reasoning_tokens,
  });
}
