import { z } from 'zod';
import type {
  ChatContent,
  ChatMessage,
  ChatReply,
  ChatUsage,
  FinishReason,
  ToolCall,
  UpstreamChat,
} from '../domain/chat.ts';
import type { JsonObject, JsonValue } from '../domain/json.ts';
import type { Adapter } from './channel.ts';
import { bearerAuthorization as authorization, type UpstreamCaller } from './call-upstream.ts';
import { classifyChat } from './classify-outcome.ts';
import { ModelList, chatCall, count } from './chat-call.ts';
import { readOpenaiError as readError } from './openai-error.ts';
import { openaiMedia } from './openai-media.ts';
import { probeBy } from './probe.ts';

/**
 * Chat completions of OpenAI and of compatible providers. Base URL `https://api.openai.com/v1`.
 *
 * Read on 2026-11-21: https://platform.openai.com/docs/api-reference/chat/create, …/chat/object and
 * https://platform.openai.com/docs/guides/error-codes.
 *
 * OpenAI's reasoning models refuse `max_tokens` and every temperature but 1. Compatible providers accept `max_tokens` only. The
 * catalog says what a model accepts: `parameters: {max_tokens: {name: max_completion_tokens}, temperature: null}`.
 */
export function createOpenai(caller: UpstreamCaller): Adapter {
  return {
    chatSupports: {
      httpsImages: true,
      jsonObject: true,
      jsonSchema: true,
      seed: true,
      topK: true,
      serialToolCalls: true,
      stopMax: 4,
      extra: true,
    },
    ...openaiMedia(caller),

    async chat(upstream, request, options) {
      const outcome = await caller.call(
        upstream,
        chatCall({ path: '/chat/completions', headers: authorization(upstream), body: toBody(request) }, options),
      );
      return classifyChat(outcome, toReply, readError);
    },

    probe: probeBy(caller, { path: '/models', headers: authorization, shape: ModelList, readError }),
  };
}

function toBody(request: UpstreamChat): JsonObject {
  const { responseFormat: format, toolChoice: choice } = request;
  return {
    // First, so that an unknown field cannot replace a priced one.
    ...request.extra,
    model: request.model,
    messages: request.messages.map(toMessage),
    ...named(request, 'max_tokens', request.maxTokens),
    ...named(request, 'temperature', request.temperature),
    ...(request.topP !== undefined && { top_p: request.topP }),
    ...(request.topK !== undefined && { top_k: request.topK }),
    ...(request.stop && { stop: request.stop }),
    ...(request.seed !== undefined && { seed: request.seed }),
    ...(request.user !== undefined && { user: request.user }),
    ...(request.tools.length > 0 && {
      tools: request.tools.map((tool) => ({ type: 'function', function: { ...tool } })),
      ...(request.parallelToolCalls !== undefined && { parallel_tool_calls: request.parallelToolCalls }),
      ...(choice !== undefined && {
        tool_choice: typeof choice === 'string' ? choice : { type: 'function', function: { name: choice.name } },
      }),
    }),
    ...(format && {
      response_format:
        format.type === 'json_schema'
          ? {
              type: 'json_schema',
              json_schema: {
                name: format.name,
                schema: format.schema,
                ...(format.description !== undefined && { description: format.description }),
                ...(format.strict !== undefined && { strict: format.strict }),
              },
            }
          : { type: format.type },
    }),
    n: 1,
    stream: false,
  };
}

function named(request: UpstreamChat, key: string, value: JsonValue | undefined): JsonObject {
  const rule = request.parameters?.[key];
  return value === undefined || rule === null ? {} : { [rule?.name ?? key]: value };
}

function toMessage(message: ChatMessage): JsonObject {
  if (message.role === 'tool') {
    return { role: 'tool', tool_call_id: message.toolCallId, content: toContent(message.content) };
  }
  const { name } = message;
  // OpenAI accepts `developer` and `system`, compatible providers accept `system` only.
  const role = message.role === 'developer' ? 'system' : message.role;
  const content = message.content === null ? null : toContent(message.content);
  return {
    role,
    content,
    ...(name !== undefined && { name }),
    ...(message.role === 'assistant' &&
      message.toolCalls.length > 0 && { tool_calls: message.toolCalls.map(toToolCall) }),
  };
}

const toContent = (content: ChatContent): JsonValue =>
  typeof content === 'string'
    ? content
    : content.map((part): JsonObject =>
        part.type === 'text'
          ? { type: 'text', text: part.text }
          : {
              type: 'image_url',
              image_url: { url: part.url, ...(part.detail !== undefined && { detail: part.detail }) },
            },
      );

const toToolCall = ({ id, name, arguments: text }: ToolCall): JsonObject => ({
  id,
  type: 'function',
  function: { name, arguments: text },
});

const TextPart = z.object({ type: z.string(), text: z.string().nullish() });
const Message = z.object({
  /** Some compatible providers send a list of parts. */
  content: z.union([z.string(), z.array(TextPart)]).nullish(),
  refusal: z.string().nullish(),
  tool_calls: z
    .array(
      z.object({
        id: z.string().nullish(),
        function: z.object({
          name: z.string().min(1),
          /** JSON text. Some compatible providers send an object. */
          arguments: z.union([z.string(), z.record(z.string(), z.json())]).nullish(),
        }),
      }),
    )
    .nullish(),
});
const Completion = z.object({
  choices: z.array(z.object({ message: Message, finish_reason: z.string().nullish() })).min(1),
  usage: z.unknown().optional(),
});
const Usage = z.object({
  prompt_tokens: count,
  completion_tokens: count,
  prompt_tokens_details: z.object({ cached_tokens: count }).nullish().catch(null),
  completion_tokens_details: z.object({ reasoning_tokens: count }).nullish().catch(null),
});

function toReply(json: unknown): ChatReply | null {
  const completion = Completion.safeParse(json);
  const choice = completion.data?.choices[0];
  if (!choice) return null;
  const { message } = choice;
  const finishReason = finishReasons[choice.finish_reason ?? 'stop'] ?? 'stop';
  // OpenRouter and DeepSeek mark an incomplete answer so. It is not an answer.
  if (finishReason === 'broken') return null;
  const text = Array.isArray(message.content)
    ? message.content.map((part) => part.text ?? '').join('')
    : (message.content ?? null);
  return {
    content: text,
    refusal: message.refusal ?? null,
    toolCalls: (message.tool_calls ?? []).map(({ id, function: called }, index) => ({
      id: id || `call_${index}`,
      name: called.name,
      arguments:
        typeof called.arguments === 'string' ? called.arguments || '{}' : JSON.stringify(called.arguments ?? {}),
    })),
    finishReason,
    usage: toUsage(completion.data?.usage),
  };
}

const finishReasons: Readonly<Record<string, FinishReason | 'broken'>> = {
  stop: 'stop',
  length: 'length',
  tool_calls: 'tool_calls',
  function_call: 'tool_calls',
  content_filter: 'content_filter',
  error: 'broken',
  insufficient_system_resource: 'broken',
};

function toUsage(json: unknown): ChatUsage | null {
  const usage = Usage.safeParse(json).data;
  if (!usage || (usage.prompt_tokens === null && usage.completion_tokens === null)) return null;
  const cached = usage.prompt_tokens_details?.cached_tokens ?? null;
  const reasoning = usage.completion_tokens_details?.reasoning_tokens ?? null;
  return {
    inputTokens: usage.prompt_tokens,
    outputTokens: usage.completion_tokens,
    ...(cached !== null && { cachedTokens: cached }),
    ...(reasoning !== null && { reasoningTokens: reasoning }),
  };
}
