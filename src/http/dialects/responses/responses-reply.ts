import type { z } from 'zod';
import { isContent, toDeltas } from '../../../domain/chat/chat-stream.ts';
import type { ChatReply, ChatTool } from '../../../domain/chat/chat.ts';
import { isObject, type JsonObject, type JsonValue } from '../../../domain/json.ts';
import type { OpenaiResponse } from '../../openapi/schemas/openai-response.ts';
import { nonNullFields } from '../chat-fields.ts';
import { answerTokenParts, costMember, type AnswerUsage, type ChatAnswer } from '../chat-answer.ts';
import { ResponseItems, type OutputItem } from './responses-items.ts';

type Response = z.input<typeof OpenaiResponse>;

/**
 * Writes the response object (https://platform.openai.com/docs/api-reference/responses/object). `request` is the body of the request, and
 * `tools` are its parsed tools.
 */
export function responseObject(answer: ChatAnswer, request: JsonObject, tools: readonly ChatTool[] = []): Response {
  const items = new ResponseItems(answer.id, tools);
  for (const delta of toDeltas(answer.reply).filter(isContent)) items.add(delta);
  items.end(responseStatus(answer.reply));
  return finishedResponse(answer, request, items.items);
}

/** The status of the response and of its last item. */
export const responseStatus = ({ finishReason }: ChatReply): 'completed' | 'incomplete' =>
  finishReason === 'length' || finishReason === 'content_filter' ? 'incomplete' : 'completed';

/** The response with its items, reason and counts. */
export function finishedResponse(answer: ChatAnswer, request: JsonObject, output: OutputItem[]) {
  const { reply, warning, created } = answer;
  const status = responseStatus(reply);
  const reason = reply.finishReason === 'length' ? 'max_output_tokens' : 'content_filter';
  return {
    ...openResponse(answer, request),
    status,
    completed_at: status === 'completed' ? Math.max(created, Math.floor(Date.now() / 1_000)) : null,
    incomplete_details: status === 'incomplete' ? { reason } : null,
    output,
    usage: responsesUsage(answer),
    ...(warning !== undefined && { tollgate: { warning } }),
  } satisfies Response;
}

/**
 * The response before its first item. Fields of the request are repeated, as OpenAI does. Those that the schema of Open Responses
 * (https://www.openresponses.org) wants as numbers have OpenAI's defaults if the request has none.
 */
export function openResponse({ id, created, model }: Omit<ChatAnswer, 'reply' | 'usage'>, request: JsonObject) {
  const { format, verbosity } = asObject(request.text);
  const { effort, summary } = asObject(request.reasoning);
  return {
    id,
    object: 'response' as const,
    access_programs: null,
    created_at: created,
    status: 'in_progress',
    background: false,
    completed_at: null,
    error: null,
    incomplete_details: null,
    instructions: request.instructions ?? null,
    max_output_tokens: request.max_output_tokens ?? null,
    max_tool_calls: null,
    metadata: request.metadata ?? {},
    model,
    output: [],
    frequency_penalty: numberOr(0, request.frequency_penalty),
    parallel_tool_calls: request.parallel_tool_calls ?? true,
    presence_penalty: numberOr(0, request.presence_penalty),
    previous_response_id: null,
    prompt_cache_key: request.prompt_cache_key ?? null,
    reasoning: { effort: effort ?? null, summary: summary ?? null },
    safety_identifier: request.safety_identifier ?? null,
    service_tier: 'default',
    store: false,
    temperature: numberOr(1, request.temperature),
    text: { format: format ?? { type: 'text' }, verbosity: verbosity ?? 'medium' },
    tool_choice: request.tool_choice ?? 'auto',
    tools: toShownTools(request.tools),
    top_logprobs: 0,
    top_p: numberOr(1, request.top_p),
    truncation: request.truncation ?? 'disabled',
    usage: null,
    user: request.user ?? null,
  };
}

const numberOr = (usual: number, value: JsonValue | undefined): number => (typeof value === 'number' ? value : usual);

/** The tools that the model was offered, with every member that typed clients demand. Tools that a provider would run are not offered. */
const toShownTools = (tools: JsonValue | undefined): JsonObject[] =>
  (Array.isArray(tools) ? tools : []).map(asObject).flatMap((tool) => {
    if (tool.type === 'custom') return [tool];
    if (tool.type === 'namespace')
      return [{ description: '', ...nonNullFields(tool), tools: toShownTools(tool.tools) }];
    return tool.type === 'function' ? [{ ...emptyFunction, ...nonNullFields(tool) }] : [];
  });
const emptyFunction = { description: null, parameters: { type: 'object', properties: {} }, strict: false };

const asObject = (value: JsonObject[string] | undefined): JsonObject => (isObject(value) ? value : {});

function responsesUsage(answer: AnswerUsage) {
  const { usage } = answer;
  const { cached, cacheWrite, reasoning } = answerTokenParts(answer);
  return {
    input_tokens: usage.input,
    input_tokens_details: { cached_tokens: cached, cache_write_tokens: cacheWrite },
    output_tokens: usage.output,
    output_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: usage.input + usage.output,
    ...costMember(answer),
  };
}
