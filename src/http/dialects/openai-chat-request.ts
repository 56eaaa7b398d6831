import { z } from 'zod';
import {
  checkConversation,
  toLength,
  toTemperature,
  type ChatContent,
  type ChatMessage,
  type ChatRequest,
  type ToolCall,
} from '../../domain/chat.ts';
import { GatewayError } from '../../domain/errors.ts';
import type { JsonObject, JsonValue } from '../../domain/json.ts';
import { neverPassedThrough } from '../../domain/pass-through.ts';
import { anyJson, listOf, validate } from '../validate.ts';
import {
  FunctionName,
  given,
  ImageUrl,
  isGiven,
  itemsMax,
  JsonRecord,
  MaxTokens,
  Temperature,
  toolsMax,
  V1MaxTokens,
  withoutHarmless,
  type HarmlessValues,
} from './chat-fields.ts';
import { readBody, strictly, type Reading } from './reading.ts';

/**
 * Reads an OpenAI chat completion request (https://platform.openai.com/docs/api-reference/chat/create, read 2026-11-21;
 * limits of spec §4.2). Throws `missing_parameter`, `invalid_value` or `unsupported_parameter` with `param`. Null in an
 * optional field means absent. Whether the model exists and accepts the request is checked later.
 */
export const readOpenaiChat = (body: unknown): ChatRequest => toRequest(validate(Body, body));

/** The same under `/v1`, with any `max_tokens` of at least 1 and, unless the reading is strict, without fields that are not known. */
export function readV1OpenaiChat(body: JsonObject, reading: Reading = strictly): ChatRequest {
  const { asked, leftOut } = readBody(V1Body, body, { refused: {} }, reading);
  return { ...toRequest(asked), ...given({ leftOut }) };
}

function toRequest(asked: z.infer<typeof V1Body>): ChatRequest {
  const extra = furtherFields(asked);
  const { model, messages, max_tokens, max_completion_tokens, temperature, top_p, top_k, stop, seed, user } = asked;
  if (isGiven(max_tokens) && isGiven(max_completion_tokens) && max_tokens !== max_completion_tokens) {
    throw new GatewayError('invalid_value', {
      param: 'max_completion_tokens',
      message: 'max_completion_tokens and max_tokens are the same setting and must not differ.',
    });
  }
  if (isGiven(asked.stream_options) && asked.stream !== true) {
    const message = 'stream_options needs stream: true.';
    throw new GatewayError('invalid_value', { param: 'stream_options', message });
  }
  const tools = (asked.tools ?? []).map(({ function: { name: toolName, ...rest }, cache_control: cacheControl }) => ({
    name: toolName,
    ...given({ ...rest, cacheControl }),
  }));
  const toolChoice = readToolChoice(asked.tool_choice, tools);
  const canonical = messages.map(toMessage);
  checkConversation(canonical, 'messages');
  return {
    model,
    messages: canonical,
    tools,
    ...toLength(max_tokens ?? max_completion_tokens),
    ...toTemperature(temperature, top_p),
    ...given({
      toolChoice,
      parallelToolCalls: asked.parallel_tool_calls,
      responseFormat: asked.response_format && toFormat(asked.response_format),
      topP: top_p,
      topK: top_k,
      stop: typeof stop === 'string' ? [stop] : stop,
      seed,
      user,
    }),
    extra,
  };
}

/** Whether a valid request asks for a last chunk with the counts. */
export const wantsUsage = (body: JsonObject): boolean =>
  JsonRecord.safeParse(body['stream_options']).data?.['include_usage'] === true;

/** Anthropic's mark for its prompt cache, in the place where LiteLLM and OpenRouter accept it too. */
const cache_control = z.object({ type: z.literal('ephemeral'), ttl: z.enum(['5m', '1h']).optional() }).nullish();
const TextPart = z.object({ type: z.literal('text'), text: z.string(), cache_control });
const ImagePart = z.object({
  type: z.literal('image_url'),
  image_url: z.object({ url: ImageUrl, detail: z.enum(['auto', 'low', 'high', 'original']).nullish() }),
  cache_control,
});
const RefusalPart = z.object({ type: z.literal('refusal'), refusal: z.string() });

const contentOf = <Part extends z.ZodType>(part: Part) =>
  z.union([z.string(), listOf(part, { min: 1, max: itemsMax })]);
const textContent = contentOf(TextPart);
const userContent = contentOf(z.discriminatedUnion('type', [TextPart, ImagePart]));
const assistantContent = contentOf(z.discriminatedUnion('type', [TextPart, RefusalPart]));
const name = z.string().max(256).nullish();

const ToolCallIn = z.object({
  id: z.string().min(1).max(512),
  type: z.literal('function').optional(),
  function: z.object({ name: FunctionName, arguments: z.string() }),
  extra_content: z.object({ google: z.object({ thought_signature: z.string().optional() }).optional() }).nullish(),
});

const Message = z.discriminatedUnion('role', [
  z.object({ role: z.literal('system'), content: textContent, name }),
  z.object({ role: z.literal('developer'), content: textContent, name }),
  z.object({ role: z.literal('user'), content: userContent, name }),
  z
    .object({
      role: z.literal('assistant'),
      content: assistantContent.nullish(),
      refusal: z.string().nullish(),
      tool_calls: listOf(ToolCallIn, { max: toolsMax }).nullish(),
      reasoning_content: z.string().nullish(),
      // Retired fields, which SDKs send back as null with an earlier answer.
      function_call: z.null().optional(),
      audio: z.null().optional(),
      name,
    })
    .superRefine((message, context) => {
      const isEmpty = !isGiven(message.content) && !isGiven(message.refusal) && (message.tool_calls?.length ?? 0) === 0;
      if (isEmpty) {
        context.addIssue({ code: 'custom', path: ['content'], message: 'is required where there are no tool_calls' });
      }
    }),
  z.object({ role: z.literal('tool'), content: textContent, tool_call_id: z.string().min(1).max(512) }),
]);

const Tool = z.object({
  type: z.literal('function'),
  function: z.object({
    name: FunctionName,
    description: z.string().nullish(),
    parameters: JsonRecord.nullish(),
    strict: z.boolean().nullish(),
  }),
  cache_control,
});
const ToolChoiceIn = z.union([
  z.enum(['auto', 'none', 'required']),
  z.object({ type: z.literal('function'), function: z.object({ name: FunctionName }) }),
]);
const Format = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text') }),
  z.object({ type: z.literal('json_object') }),
  z.object({
    type: z.literal('json_schema'),
    json_schema: z.object({
      name: z.string().regex(/^[\w-]{1,64}$/, 'must be 1 to 64 letters, digits, "_" or "-"'),
      description: z.string().nullish(),
      schema: JsonRecord.nullish(),
      strict: z.boolean().nullish(),
    }),
  }),
]);

/** The fields that are read, by name. */
export const openaiChatFields = {
  model: z.string().min(1).max(200),
  messages: listOf(Message, { min: 1, max: itemsMax }),
  max_tokens: MaxTokens.nullish(),
  max_completion_tokens: MaxTokens.nullish(),
  temperature: Temperature.nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  top_k: z.int().min(1).max(1_000).nullish(),
  stop: z.union([z.string().min(1).max(500), z.array(z.string().min(1).max(500)).max(4)]).nullish(),
  seed: z.int().nullish(),
  user: z.string().max(512).nullish(),
  tools: z.array(Tool).max(toolsMax).nullish(),
  tool_choice: ToolChoiceIn.nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  response_format: Format.nullish(),
  stream: z.boolean().nullish(),
  stream_options: z
    .strictObject({ include_usage: z.boolean().nullish(), include_obfuscation: z.literal(false).nullish() })
    .nullish(),
};
/** Fields with one supported value. Another value of the right type is unsupported rather than invalid. */
const fixed = {
  n: z.int().min(1).max(128).nullish(),
  logprobs: z.boolean().nullish(),
};
const Body = z.object({ ...openaiChatFields, ...fixed }).catchall(anyJson);
const V1Body = Body.extend({
  max_tokens: V1MaxTokens.nullish(),
  max_completion_tokens: V1MaxTokens.nullish(),
  stream_options: z
    .strictObject({ include_usage: z.boolean().nullish(), include_obfuscation: z.boolean().nullish() })
    .nullish(),
});

/** Values that change nothing. A field with such a value is accepted and not sent. */
export const harmlessChatFields: HarmlessValues = {
  n: [1],
  best_of: [1],
  logprobs: [false],
  top_logprobs: [0],
  modalities: [['text']],
  store: [false],
  service_tier: ['auto', 'default'],
  frequency_penalty: [0],
  presence_penalty: [0],
  logit_bias: [{}],
};

/** The fields that are neither read here nor harmless. Throws for a field that would change the shape of the answer. */
function furtherFields(asked: z.infer<typeof V1Body>): JsonObject {
  const unread = Object.fromEntries(
    Object.entries(asked).filter(
      (entry): entry is [string, JsonValue] => isGiven(entry[1]) && !Object.hasOwn(openaiChatFields, entry[0]),
    ),
  );
  const further = withoutHarmless(unread, harmlessChatFields);
  const param = Object.keys(further).find((field) => neverPassedThrough.includes(field));
  if (param === undefined) return further;
  throw new GatewayError('unsupported_parameter', {
    param,
    message: `The field ${param} is not supported, or not with this value.`,
  });
}

function readToolChoice(
  choice: z.infer<typeof ToolChoiceIn> | null | undefined,
  tools: readonly { name: string }[],
): ChatRequest['toolChoice'] {
  if (!isGiven(choice) || (choice === 'none' && tools.length === 0)) return undefined;
  const wanted = typeof choice === 'string' ? choice : { name: choice.function.name };
  const isOffered = typeof wanted === 'string' ? tools.length > 0 : tools.some((tool) => tool.name === wanted.name);
  if (isOffered) return wanted;
  throw new GatewayError('invalid_value', {
    param: 'tool_choice',
    message: 'tool_choice: must name a tool of this request',
  });
}

function toFormat(format: z.infer<typeof Format>): NonNullable<ChatRequest['responseFormat']> {
  if (format.type !== 'json_schema') return format;
  const { name: schemaName, description, schema, strict } = format.json_schema;
  return {
    type: 'json_schema',
    name: schemaName,
    schema: schema ?? { type: 'object' },
    ...given({ description, strict }),
  };
}

function toMessage(message: z.infer<typeof Message>): ChatMessage {
  if (message.role === 'tool') {
    return { role: 'tool', toolCallId: message.tool_call_id, content: toContent(message.content) };
  }
  const named = isGiven(message.name) && message.name !== '' && { name: message.name };
  if (message.role !== 'assistant') return { role: message.role, content: toContent(message.content), ...named };
  const content = isGiven(message.content) ? toContent(message.content) : (message.refusal ?? null);
  return {
    role: 'assistant',
    content,
    toolCalls: (message.tool_calls ?? []).map(toToolCall),
    ...given({ reasoning: message.reasoning_content }),
    ...named,
  };
}

type ContentIn = z.infer<typeof userContent> | z.infer<typeof assistantContent>;
const toContent = (content: ContentIn): ChatContent =>
  typeof content === 'string'
    ? content
    : content.map((part) => {
        if (part.type === 'refusal') return { type: 'text', text: part.refusal };
        const cacheControl = part.cache_control;
        if (part.type === 'text') return { type: 'text', text: part.text, ...given({ cacheControl }) };
        const { url, detail } = part.image_url;
        return { type: 'image', url, ...given({ detail, cacheControl }) };
      });

function toToolCall({ id, function: called, extra_content }: z.infer<typeof ToolCallIn>): ToolCall {
  const signature = extra_content?.google?.thought_signature;
  return { id, name: called.name, arguments: called.arguments, ...given({ signature }) };
}
