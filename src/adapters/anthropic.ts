import { z } from 'zod';
import {
  partsOfContent,
  splitDataUri,
  type CacheControl,
  type ChatMessage,
  type ChatPart,
  type ChatReply,
  type ChatUsage,
  type UpstreamChat,
} from '../domain/chat/chat.ts';
import type { JsonObject, JsonValue } from '../domain/json.ts';
import { optionalNamesIn, optionalFieldsOf } from '../domain/chat/optional-parameters.ts';
import type { SignedThought } from '../domain/chat/thoughts.ts';
import type { Adapter, Upstream } from './channel.ts';
import type { RequestBody, UpstreamCaller } from './upstream/call-upstream.ts';
import type { FailedAnswer, ReadError } from './upstream/classify-outcome.ts';
import { toAnthropicSchema } from './chat/anthropic-schema.ts';
import { anthropicWarnings, sampling, thinkingOf, withAllowedThoughts } from './chat/anthropic-thinking.ts';
import { betaHeader } from './chat/anthropic-betas.ts';
import { toAnthropicTurns, withSystemTurns } from './chat/anthropic-turns.ts';
import { instructionsOf, objectIn, ownObject, splitSystem } from './chat/sent-messages.ts';
import { tokenCount } from './chat/whole-usage.ts';
import { anthropicEvents } from './chat/anthropic-stream.ts';
import { anthropicFormats, withFormat } from './chat/instructed-format.ts';
import { familyCalls } from './upstream/family-calls.ts';
import { ProviderModelList } from './upstream/list-models.ts';
import { replyOfEvents } from './chat/chat-events.ts';
import { fieldsIn } from './chat/event-fields.ts';

/**
 * Anthropic's Messages API. Base URL `https://api.anthropic.com/v1`.
 *
 * Read on 2026-11-21: https://platform.claude.com/docs/en/api/messages, …/api/errors,
 * …/build-with-claude/handling-stop-reasons and …/build-with-claude/prompt-caching.
 *
 * System and developer messages become the one `system` text, but for those between the turns of a model that takes them there. Our API accepts temperatures from 0 to 2 (spec §4.2), and
 * Anthropic from 0 to 1, so higher ones are sent as 1.
 */
export function createAnthropic(caller: UpstreamCaller): Adapter {
  const { chatBy, chatStreamBy, probeBy, modelListBy } = familyCalls(caller, {
    headers: headersFor,
    chatHeaders: betaHeader,
    // A conversation started with another family may have other ids, and ids that repeat.
    toolRules: () => ({
      nameRefused: /[^\w-]/g,
      nameMax: 64,
      idRefused: /[^\w-]/g,
      hasUniqueIds: true,
      hasPlainSchemas: true,
    }),
    readError,
  });
  return {
    chatSupports: {
      lacksJsonObject: true,
      parameters: [...optionalNamesIn('anthropic').map(({ parameter }) => parameter), 'parallel_tool_calls'],
      // Its documents name no limit.
      stopMax: 1_000,
      // "stop_sequences: each stop sequence must contain non-whitespace"
      blankStops: false,
      extra: false,
      prefill: true,
      refusesBlankTurns: true,
      documents: { hasBlocks: true, urls: true },
      thoughts: ['anthropic', 'anthropic_redacted'],
      vendorApi: 'anthropic',
      translates: ['reasoning_effort'],
    },
    chatWarnings: anthropicWarnings,
    stopsAtHangUp: true,
    chat: chatBy(() => '/messages', toBody, toReply),
    chatStream: chatStreamBy(
      () => '/messages',
      (request) => ({ ...toBody(request), stream: true }),
      { events: () => anthropicEvents(toUsage), reply: toReply },
    ),
    probe: probeBy('/models', ProviderModelList),
    listModels: modelListBy(
      '/models?limit=1000',
      ProviderModelList,
      ({ data, has_more: hasMore, last_id: lastId }) => ({
        names: data.map(({ id }) => id),
        next: hasMore ? `/models?limit=1000&after_id=${encodeURIComponent(lastId ?? data.at(-1)?.id ?? '')}` : null,
      }),
    ),
  };
}

const headersFor = (upstream: Upstream) => ({
  'x-api-key': upstream.credential,
  'anthropic-version': '2023-06-01',
});

function toBody(request: UpstreamChat): RequestBody {
  const { thinking, effort } = thinkingOf(request);
  const allowed = withAllowedThoughts(request, thinking);
  const { system, systemParts, conversation } = instructed(withFormat(anthropicFormats, allowed));
  const turns = toAnthropicTurns(conversation, toBlocks);
  // A conversation must have a user turn.
  const isAlone = turns.length === 0;
  const isMarked = systemParts.some(({ cacheControl }) => cacheControl);
  const format = request.responseFormat;
  const { thinking: _thinking, ...own } = allowed.vendor?.fields ?? {};
  const outputConfig = {
    ...(effort !== undefined && { effort }),
    ...(format?.type === 'json_schema' && {
      format: { type: 'json_schema', schema: toAnthropicSchema(format.schema) },
    }),
  };
  return {
    ...own,
    model: request.model,
    max_tokens: request.maxTokens,
    messages: isAlone ? [{ role: 'user', content: isMarked ? systemParts.map(toBlock) : system }] : turns,
    // One text, unless a part is marked for the cache.
    system: isAlone || system === '' ? undefined : isMarked ? systemParts.map(toBlock) : system,
    ...optionalFieldsOf('anthropic', request),
    ...sampling(request, thinking),
    thinking: thinking && thinking.type !== 'disabled' ? { ...thinking, ...ownObject(request, 'thinking') } : thinking,
    ...(Object.keys(outputConfig).length > 0 && { output_config: outputConfig }),
    ...(request.user !== undefined && { metadata: { user_id: request.user } }),
    ...(request.tools.length > 0 && { tools: request.tools.map(toTool), ...toToolChoice(request) }),
    ...request.fixed,
  };
}

/** The instructions of the conversation, and the conversation with those between its turns if the model takes them there. */
function instructed({ messages, traits }: UpstreamChat) {
  if (!traits?.system_turns) return splitSystem(messages);
  const { system, turns } = withSystemTurns(messages);
  return { ...instructionsOf(system), conversation: turns };
}

function toTool(tool: UpstreamChat['tools'][number]): RequestBody {
  // A tool of Anthropic's own, whose description and schema its models know.
  if (tool.vendor?.['type'] !== undefined) return { name: tool.name, ...cached(tool.cacheControl), ...tool.vendor };
  const schema: JsonObject = { type: 'object', ...(tool.parameters ?? { properties: {} }) };
  return {
    name: tool.name,
    description: tool.description,
    input_schema: tool.strict ? toAnthropicSchema(schema) : schema,
    strict: tool.strict,
    ...cached(tool.cacheControl),
    ...tool.vendor,
  };
}

const cached = (cacheControl: CacheControl | undefined): JsonObject =>
  cacheControl ? { cache_control: { ...cacheControl } } : {};

function toToolChoice({ toolChoice, parallelToolCalls }: UpstreamChat): JsonObject {
  const serial = parallelToolCalls === false && { disable_parallel_tool_use: true };
  if (toolChoice === 'none') return { tool_choice: { type: 'none' } };
  if (toolChoice === 'required') return { tool_choice: { type: 'any', ...serial } };
  if (typeof toolChoice === 'object') return { tool_choice: { type: 'tool', name: toolChoice.name, ...serial } };
  return serial || toolChoice ? { tool_choice: { type: 'auto', ...serial } } : {};
}

function toBlocks(message: ChatMessage): JsonValue[] {
  if (message.role === 'tool') {
    const parts = partsOfContent(message.content);
    // A result is cached as a whole, so the mark moves from its parts to the block around them.
    const mark = parts.findLast(({ cacheControl }) => cacheControl)?.cacheControl;
    const content = parts.map(({ cacheControl: _, ...part }) => toBlock(part));
    const failed = message.isError && { is_error: true };
    return [
      {
        type: 'tool_result',
        tool_use_id: message.toolCallId,
        ...(content.length > 0 && { content }),
        ...failed,
        ...cached(mark),
      },
    ];
  }
  const blocks: JsonValue[] = partsOfContent(message.content).map(toBlock);
  if (message.role !== 'assistant') return blocks;
  const calls = message.toolCalls.map((call) => ({
    type: 'tool_use',
    id: call.id,
    name: call.name,
    input: objectIn(call.arguments) ?? {},
    ...cached(call.cacheControl),
  }));
  return [...(message.thoughts ?? []).flatMap(toThinking), ...blocks, ...calls];
}

/** A turn begins with its thoughts, unchanged. */
function toThinking({ kind, text, signature }: SignedThought): JsonObject[] {
  if (kind === 'anthropic') return [{ type: 'thinking', thinking: text, signature }];
  return kind === 'anthropic_redacted' ? [{ type: 'redacted_thinking', data: signature }] : [];
}

function toBlock(part: ChatPart): JsonObject {
  if (part.type === 'text' && part.toolReference !== undefined)
    return { type: 'tool_reference', tool_name: part.toolReference, ...cached(part.cacheControl) };
  if (part.type === 'document' || (part.type === 'text' && part.document)) return toDocument(part);
  if (part.type === 'text') return { type: 'text', text: part.text, ...cached(part.cacheControl) };
  const inline = splitDataUri(part.url);
  return {
    type: 'image',
    source: inline
      ? { type: 'base64', media_type: inline.mimeType, data: inline.base64 }
      : { type: 'url', url: part.url },
    ...cached(part.cacheControl),
  };
}

/** A document of text or a PDF (https://platform.claude.com/docs/en/build-with-claude/pdf-support, read 2026-11-26). */
function toDocument(part: Exclude<ChatPart, { type: 'image' }>): JsonObject {
  const inline = part.type === 'document' ? splitDataUri(part.url) : null;
  const { title, context } =
    part.type === 'document' ? { ...part, title: part.title ?? part.name } : (part.document ?? {});
  return {
    type: 'document',
    source:
      part.type === 'text'
        ? { type: 'text', media_type: 'text/plain', data: part.text }
        : inline
          ? { type: 'base64', media_type: inline.mimeType, data: inline.base64 }
          : { type: 'url', url: part.url },
    ...(title !== undefined && { title }),
    ...(context !== undefined && { context }),
    ...cached(part.cacheControl),
  };
}

const AnthropicUsage = z.object({
  input_tokens: tokenCount,
  output_tokens: tokenCount,
  cache_creation_input_tokens: tokenCount,
  cache_creation: z.object({ ephemeral_1h_input_tokens: tokenCount }).nullish().catch(null),
  cache_read_input_tokens: tokenCount,
  output_tokens_details: z.object({ thinking_tokens: tokenCount }).nullish().catch(null),
});

/** A whole answer has the content of the events of a streamed one. */
function toReply(json: unknown): ChatReply | 'blocked' | FailedAnswer | null {
  const { content, ...message } = fieldsIn(json) ?? {};
  if (!Array.isArray(content)) return null;
  const blocks = content.flatMap((block: unknown, index) => [
    { type: 'content_block_start', index, content_block: block },
    { type: 'content_block_stop', index },
  ]);
  return replyOfEvents(
    anthropicEvents(toUsage),
    [...blocks, { type: 'message_delta', delta: message, usage: message.usage }],
    content.some((block: unknown) => fieldsIn(block)?.type === 'text') ? '' : null,
  );
}

/** `input_tokens` excludes tokens read from or written to the cache, so the prompt is the sum of all three counts. */
function toUsage(json: unknown): ChatUsage | null {
  const usage = AnthropicUsage.safeParse(json).data;
  if (!usage || (usage.input_tokens === null && usage.output_tokens === null)) return null;
  const { input_tokens: fresh, cache_creation_input_tokens: written, cache_read_input_tokens: cached } = usage;
  return {
    inputTokens: fresh === null ? null : fresh + (written ?? 0) + (cached ?? 0),
    outputTokens: usage.output_tokens,
    cachedTokens: cached ?? undefined,
    cacheWriteTokens: written ?? undefined,
    cacheWrite1hTokens: usage.cache_creation?.ephemeral_1h_input_tokens ?? undefined,
    reasoningTokens: usage.output_tokens_details?.thinking_tokens ?? undefined,
  };
}

const ErrorBody = z.object({
  type: z.literal('error'),
  error: z.object({ type: z.string(), message: z.string() }),
});

const readError: ReadError = (json) => {
  const body = ErrorBody.safeParse(json).data;
  if (!body) return null;
  const { type, message } = body.error;
  const words = [type];
  // An empty account and a reached spend limit come as 400 `invalid_request_error`, with the reason in prose only.
  if (/credit balance|usage limits/i.test(message)) words.push('insufficient_credits');
  if (/prompt is too long|exceeds? (the )?context/i.test(message)) words.push('context_length_exceeded');
  if (/content filtering policy/i.test(message)) words.push('content_filter');
  return words;
};
