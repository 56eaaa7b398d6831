import { z } from 'zod';
import {
  isDataUri,
  partsOfContent,
  textOfContent,
  type ChatMessage,
  type ChatPart,
  type ChatReply,
  type ChatTool,
  type ChatUsage,
  type ToolCall,
  type ToolMessage,
  type UpstreamChat,
} from '../../domain/chat/chat.ts';
import type { ChatSupports } from '../../domain/chat/chat-supports.ts';
import type { JsonObject } from '../../domain/json.ts';
import { asksForThoughts, type SignedThought, type Thinking } from '../../domain/chat/thoughts.ts';
import type { RequestBody } from '../upstream/call-upstream.ts';
import { pdfNameOf, objectIn, ownObject, resultText } from './sent-messages.ts';
import { withTakenEffort } from './openai-vendor-request.ts';
import { callIdOr } from './tool-words.ts';
import { FailedAnswer } from '../upstream/classify-outcome.ts';
import { tokenCount, wholeUsage } from './whole-usage.ts';

/**
 * OpenAI's Responses API, for models whose chat completions take no function tools.
 *
 * Read on 2026-11-22: the types of `openai` 7.57.0 and https://platform.openai.com/docs/api-reference/responses.
 *
 * Nothing is stored (`store: false`), so the whole conversation is sent each time. The model's thoughts between two turns are sent if the
 * client has them encrypted.
 */
export const responsesSupports: ChatSupports = {
  parameters: ['parallel_tool_calls'],
  stopMax: 0,
  blankStops: false,
  extra: true,
  toolsMax: 128,
  thoughts: ['openai'],
  vendorApi: 'responses',
  documents: { urls: true },
};

/** The body of `POST /responses`. */
export function toResponsesBody(request: UpstreamChat): RequestBody {
  const { responseFormat, toolChoice: choice } = request;
  const { extra } = withTakenEffort(request);
  const { reasoning_effort: clientEffort, verbosity: clientVerbosity, ...clientFields } = extra;
  const { reasoning: _reasoning, ...vendorFields } = request.vendor?.fields ?? {};
  const { reasoning_effort: fixedEffort, verbosity: fixedVerbosity, ...catalogFields } = request.fixed ?? {};
  const ownReasoning = ownObject(request, 'reasoning');
  const effort = fixedEffort ?? ownReasoning.effort ?? clientEffort;
  const verbosity = fixedVerbosity ?? clientVerbosity;
  const reasoning = { ...toSummary(request.thinking), ...ownReasoning, ...(effort !== undefined && { effort }) };
  const text = { ...(responseFormat && { format: { ...responseFormat } }), ...(verbosity && { verbosity }) };
  return {
    // First, so that a further field cannot replace a priced one.
    ...clientFields,
    ...vendorFields,
    model: request.model,
    input: toInput(request.messages),
    max_output_tokens: request.maxTokens,
    temperature: request.temperature,
    top_p: request.topP,
    user: request.user,
    ...(Object.keys(reasoning).length > 0 && { reasoning }),
    ...(request.thinking?.isSigned && { include: ['reasoning.encrypted_content'] }),
    ...(Object.keys(text).length > 0 && { text }),
    ...(request.tools.length > 0 && {
      tools: request.tools.map(toTool),
      parallel_tool_calls: request.parallelToolCalls,
      tool_choice: typeof choice === 'object' ? toChoice(choice, request.tools) : choice,
    }),
    store: false,
    stream: false,
    // Last, because the catalog's word stands.
    ...catalogFields,
  };
}

/** A client that asks for thoughts in Anthropic's words is shown them. */
function toSummary(thinking: Thinking | undefined): JsonObject {
  const isShown = asksForThoughts(thinking) && thinking?.display !== 'omitted';
  const summary = thinking?.summary ?? (isShown ? 'auto' : undefined);
  return summary === undefined ? {} : { summary };
}

function toTool({ name, description, parameters, strict, custom }: ChatTool): RequestBody {
  if (custom) return { type: 'custom', name, ...custom };
  return {
    type: 'function',
    name,
    description,
    parameters: parameters ?? { type: 'object', properties: {} },
    // This API checks arguments strictly unless told otherwise, and chat completions do not.
    strict: strict ?? false,
  };
}

const toChoice = ({ name }: { name: string }, tools: readonly ChatTool[]): RequestBody => ({
  type: tools.some((tool) => tool.name === name && tool.custom) ? 'custom' : 'function',
  name,
});

/** The free text of a call of a custom tool; undefined for the call of a function, and of a call that came without the text. */
function customCallText({ isCustom, arguments: argumentText }: ToolCall): string | undefined {
  const input = isCustom ? objectIn(argumentText)?.input : undefined;
  return typeof input === 'string' ? input : undefined;
}

/** A result has the type of its call. */
function toInput(messages: readonly ChatMessage[]): RequestBody[] {
  const customIds = new Set<string>();
  return messages.flatMap((message) => {
    if (message.role === 'assistant')
      for (const call of message.toolCalls) {
        if (customCallText(call) === undefined) customIds.delete(call.id);
        else customIds.add(call.id);
      }
    return toItems(message, customIds);
  });
}

function toItems(message: ChatMessage, customIds: ReadonlySet<string>): RequestBody[] {
  if (message.role === 'tool') {
    const type = customIds.has(message.toolCallId) ? 'custom_tool_call_output' : 'function_call_output';
    return [{ type, call_id: message.toolCallId, output: toOutput(message) }];
  }
  if (message.role !== 'assistant') {
    const content = toContent(message);
    // As in a chat completion, an empty list is refused.
    return Array.isArray(content) && content.length === 0 ? [] : [{ role: message.role, content }];
  }
  const text = textOfContent(message.content);
  const thoughts = (message.thoughts ?? []).filter(({ kind }) => kind === 'openai').map(toReasoning);
  return [
    ...thoughts,
    ...(text === '' ? [] : [{ role: 'assistant', content: text, ...message.vendor }]),
    ...message.toolCalls.map(toCallItem),
  ];
}

function toCallItem(call: ToolCall): RequestBody {
  const { id, name, arguments: argumentText } = call;
  const input = customCallText(call);
  return input === undefined
    ? { type: 'function_call', call_id: id, name, arguments: argumentText }
    : { type: 'custom_tool_call', call_id: id, name, input };
}

/** Text, or parts if there are images or documents among them. */
function toOutput(message: ToolMessage): string | RequestBody[] {
  const parts = partsOfContent(message.content);
  return parts.some(({ type }) => type !== 'text') ? parts.map(toInputPart) : resultText(message);
}

const toReasoning = ({ id, text, signature }: SignedThought): RequestBody => ({
  type: 'reasoning',
  id,
  summary: text === '' ? [] : [{ type: 'summary_text', text }],
  encrypted_content: signature,
});

const toContent = ({ content }: ChatMessage): string | RequestBody[] =>
  typeof content === 'string' ? content : partsOfContent(content).map(toInputPart);

function toInputPart(part: ChatPart): RequestBody {
  if (part.type === 'text') return { type: 'input_text', text: part.text };
  if (part.type === 'image') return { type: 'input_image', image_url: part.url, detail: part.detail ?? 'auto' };
  // A name beside a URL is refused.
  const file = isDataUri(part.url) ? { filename: pdfNameOf(part), file_data: part.url } : { file_url: part.url };
  return { type: 'input_file', ...file, detail: part.detail };
}

const Part = z.object({ type: z.string(), text: z.string().nullish(), refusal: z.string().nullish() });
const Item = z.object({
  type: z.string(),
  id: z.string().nullish().catch(null),
  content: z.array(Part).nullish().catch(null),
  summary: z
    .array(z.object({ text: z.string() }))
    .nullish()
    .catch(null),
  call_id: z.string().nullish(),
  name: z.string().nullish(),
  arguments: z.string().nullish(),
  input: z.string().nullish(),
  encrypted_content: z.string().nullish().catch(null),
});
const ResponseBody = z.object({
  object: z.literal('response'),
  status: z.string().nullish(),
  output: z.array(Item),
  error: z.object({ code: z.string() }).nullish().catch(null),
  incomplete_details: z.object({ reason: z.string().nullish() }).nullish().catch(null),
  usage: z.unknown().optional(),
});
const ResponsesUsage = z.object({
  input_tokens: tokenCount,
  output_tokens: tokenCount,
  total_tokens: tokenCount,
  input_tokens_details: z.object({ cached_tokens: tokenCount, cache_write_tokens: tokenCount }).nullish().catch(null),
  output_tokens_details: z.object({ reasoning_tokens: tokenCount }).nullish().catch(null),
});

/** The errors of a failed response that are OpenAI's policy. */
const policyCodes: ReadonlySet<string> = new Set([
  'invalid_prompt',
  'bio_policy',
  'misalignment_policy_violation',
  'image_content_policy_violation',
]);

/** The reply in the body of a response, or null if it cannot be used. */
export function toResponsesReply(json: unknown): ChatReply | 'blocked' | FailedAnswer | null {
  const response = ResponseBody.safeParse(json).data;
  if (!response) return null;
  const { status, output, error, incomplete_details: incomplete } = response;
  if (status === 'failed') return policyCodes.has(error?.code ?? '') ? 'blocked' : new FailedAnswer(error?.code ?? '');
  if (status !== 'completed' && status !== 'incomplete') return null;
  const parts = output.flatMap(({ type, content }) => (type === 'message' ? (content ?? []) : []));
  const texts = parts.flatMap(({ type, text }) => (type === 'output_text' && text ? [text] : []));
  const refusals = parts.flatMap(({ type, refusal }) => (type === 'refusal' && refusal ? [refusal] : []));
  const reasoning = output.flatMap(thoughtTexts);
  const thoughts = output.flatMap((item) => toSignedThought(item) ?? []);
  const calls = output.filter(({ type }) => type === 'function_call' || type === 'custom_tool_call');
  if (calls.some(({ name }) => !name)) return null;
  const cutReason = incomplete?.reason === 'content_filter' ? 'content_filter' : 'length';
  const wholeReason = calls.length > 0 ? 'tool_calls' : 'stop';
  return {
    content: texts.length > 0 ? texts.join('') : null,
    ...(reasoning.length > 0 && { reasoning: reasoning.join('\n\n') }),
    ...(thoughts.length > 0 && { thoughts }),
    refusal: refusals.length > 0 ? refusals.join('') : null,
    toolCalls: calls.map(({ type, call_id: id, name, arguments: argumentText, input }) => ({
      id: callIdOr(id),
      name: name ?? '',
      arguments: type === 'custom_tool_call' ? JSON.stringify({ input: input ?? '' }) : argumentText || '{}',
    })),
    finishReason: status === 'incomplete' ? cutReason : wholeReason,
    usage: toUsage(response.usage),
  };
}

/** The texts of a thought: what its summary says, and what a model says that shows its thoughts themselves. */
const thoughtTexts = ({ type, summary, content }: z.infer<typeof Item>): string[] =>
  type === 'reasoning' ? [...(summary ?? []), ...(content ?? [])].flatMap(({ text }) => text || []) : [];

/** The thought in an item of an answer, if the provider encrypted it for the client to send back. */
export function toSignedThought(json: unknown): SignedThought | null {
  const item = Item.safeParse(json).data;
  if (item?.type !== 'reasoning' || !item.encrypted_content) return null;
  const text = thoughtTexts(item).join('\n\n');
  return { kind: 'openai', text, signature: item.encrypted_content, ...(item.id && { id: item.id }) };
}

function toUsage(json: unknown): ChatUsage | null {
  const usage = ResponsesUsage.safeParse(json).data;
  if (!usage) return null;
  return wholeUsage({
    prompt: usage.input_tokens,
    completion: usage.output_tokens,
    total: usage.total_tokens,
    cached: usage.input_tokens_details?.cached_tokens,
    cacheWrite: usage.input_tokens_details?.cache_write_tokens,
    reasoning: usage.output_tokens_details?.reasoning_tokens,
  });
}
