import { isContent, toDeltas } from '../../domain/chat/chat-stream.ts';
import type { ChatReply, ChatTool } from '../../domain/chat/chat.ts';
import type { JsonObject, JsonValue } from '../../domain/json.ts';
import { within, type ChatAnswer } from './chat-answer.ts';
import { ResponseItems } from './responses-items.ts';

/** Writes the response object (https://platform.openai.com/docs/api-reference/responses/object). `asked` is the body of the request, and `tools` what was read of its tools. */
export function responseObject(answer: ChatAnswer, asked: JsonObject, tools: readonly ChatTool[] = []): JsonObject {
  const items = new ResponseItems(itemsOf(answer.id, asked, tools));
  for (const delta of toDeltas(answer.reply).filter(isContent)) items.add(delta);
  items.end(statusOf(answer.reply));
  return finishedResponse(answer, asked, items.items);
}

/** What the items of a response need to know of its request. */
export const itemsOf = (
  id: string,
  asked: JsonObject,
  tools: readonly ChatTool[],
): ConstructorParameters<typeof ResponseItems>[0] => ({
  tools,
  tail: id.replace(/^resp_/, ''),
  isSigned: Array.isArray(asked.include) && asked.include.includes('reasoning.encrypted_content'),
});

/** The status of the response and of its last item. */
export const statusOf = ({ finishReason }: ChatReply): 'completed' | 'incomplete' =>
  finishReason === 'length' || finishReason === 'content_filter' ? 'incomplete' : 'completed';

/** The response with its items, reason and counts. */
export function finishedResponse(answer: ChatAnswer, asked: JsonObject, output: JsonObject[]): JsonObject {
  const { reply, warning, created } = answer;
  const status = statusOf(reply);
  const reason = reply.finishReason === 'length' ? 'max_output_tokens' : 'content_filter';
  return {
    ...openResponse(answer, asked),
    status,
    completed_at: status === 'completed' ? Math.max(created, Math.floor(Date.now() / 1_000)) : null,
    incomplete_details: status === 'incomplete' ? { reason } : null,
    output,
    usage: responsesUsage(answer),
    ...(warning !== undefined && { tollgate: { warning } }),
  };
}

/**
 * The response before its first item. Fields of the request are repeated, as OpenAI does. Those that the schema of Open Responses
 * (https://www.openresponses.org) wants as numbers have OpenAI's defaults if the request has none.
 */
export function openResponse(
  { id, created, model }: Omit<ChatAnswer, 'reply' | 'usage'>,
  asked: JsonObject,
): JsonObject {
  const { format, verbosity } = objectOf(asked.text);
  const { effort, summary } = objectOf(asked.reasoning);
  return {
    id,
    object: 'response',
    created_at: created,
    status: 'in_progress',
    background: false,
    completed_at: null,
    error: null,
    incomplete_details: null,
    instructions: asked.instructions ?? null,
    max_output_tokens: asked.max_output_tokens ?? null,
    max_tool_calls: null,
    metadata: asked.metadata ?? {},
    model,
    output: [],
    frequency_penalty: asked.frequency_penalty ?? 0,
    parallel_tool_calls: asked.parallel_tool_calls ?? true,
    presence_penalty: asked.presence_penalty ?? 0,
    previous_response_id: null,
    prompt_cache_key: asked.prompt_cache_key ?? null,
    reasoning: { effort: effort ?? null, summary: summary ?? null },
    safety_identifier: asked.safety_identifier ?? null,
    service_tier: 'default',
    store: false,
    temperature: asked.temperature ?? 1,
    text: { format: format ?? { type: 'text' }, verbosity: verbosity ?? 'medium' },
    tool_choice: asked.tool_choice ?? 'auto',
    tools: Array.isArray(asked.tools) ? asked.tools.map(toShownTool) : [],
    top_logprobs: 0,
    top_p: asked.top_p ?? 1,
    truncation: 'disabled',
    usage: null,
    user: asked.user ?? null,
  };
}

/** A function with every member that the schema requires. */
const toShownTool = (tool: JsonValue): JsonValue =>
  objectOf(tool).type === 'function' ? { description: null, parameters: null, strict: null, ...objectOf(tool) } : tool;

const objectOf = (value: JsonObject[string] | undefined): JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {};

function responsesUsage({ reply, usage }: Pick<ChatAnswer, 'reply' | 'usage'>): JsonObject {
  const { cachedTokens, cacheWriteTokens, reasoningTokens } = reply.usage ?? {};
  const cached = within(cachedTokens, usage.input);
  return {
    input_tokens: usage.input,
    input_tokens_details: { cached_tokens: cached, cache_write_tokens: within(cacheWriteTokens, usage.input - cached) },
    output_tokens: usage.output,
    output_tokens_details: { reasoning_tokens: within(reasoningTokens, usage.output) },
    total_tokens: usage.input + usage.output,
  };
}
