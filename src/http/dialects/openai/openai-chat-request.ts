import { z } from 'zod';
import {
  checkConversation,
  toLength,
  toTemperature,
  type ChatContent,
  type ChatMessage,
  type ChatRequest,
  type ToolCall,
} from '../../../domain/chat/chat.ts';
import { GatewayError } from '../../../domain/errors.ts';
import type { JsonObject, JsonValue } from '../../../domain/json.ts';
import { neverPassedThrough } from '../../../domain/chat/pass-through.ts';
import { anyJson, chosenBy, arrayOf, typeIn, validate } from '../../request/validate.ts';
import {
  CacheMark,
  FunctionName,
  nonNullFields,
  isNonNull,
  itemsMax,
  v1ItemsMax,
  JsonRecord,
  MaxTokens,
  Temperature,
  toolsMax,
  v1ToolsMax,
  V1MaxTokens,
  V1Stops,
  v1Sampling,
  V1User,
  withoutHarmless,
  type HarmlessValues,
} from '../chat-fields.ts';
import { markedContent } from '../cache-mark.ts';
import { customArguments } from '../custom-tool.ts';
import {
  ChatFunction,
  FunctionChoice,
  offeredChatTools,
  toChosen,
  V1ChatTool,
  V1ToolChoice,
} from './openai-chat-tools.ts';
import {
  contentsOf,
  toChatContent,
  v1Content,
  v1Contents,
  type ContentIn,
  type Contents,
} from './openai-chat-parts.ts';
import { leftOutTools } from '../provider-tools.ts';
import { chosenTools, type OfferedTools } from '../offered-tools.ts';
import { optionalFields, readOptionalFields } from '../optional-fields.ts';
import { readBody, strictly, type Reading } from '../reading.ts';

/**
 * Reads an OpenAI chat completion request (https://platform.openai.com/docs/api-reference/chat/create, read 2026-11-21;
 * limits of spec §4.2). Throws `missing_parameter`, `invalid_value` or `unsupported_parameter` with `param`. Null in an
 * optional field means absent. Whether the model exists and accepts the request is checked later.
 */
export function readOpenaiChat(body: unknown): ChatRequest {
  const { providerRun: _, ...request } = toRequest(validate(Body, body));
  return request;
}

/** The same under `/v1`, with any `max_tokens` of at least 1 and, unless the reading is strict, without fields that are not known. */
export function readV1OpenaiChat(body: JsonObject, reading: Reading = strictly): ChatRequest {
  // Mistral has a name of its own for the seed.
  const { random_seed: seed, ...fields } = body;
  const { parsed, leftOut } = readBody(V1Body, { ...nonNullFields({ seed }), ...fields }, { refused: {} }, reading);
  const { providerRun, ...request } = toRequest(parsed, { ...openaiChatFields, ...v1OpenaiChatFields });
  const unoffered = leftOutTools(providerRun, { ...reading, isForced: request.toolChoice === 'required' });
  return { ...request, ...nonNullFields({ leftOut: leftOut && [...leftOut, ...unoffered] }) };
}

function toRequest(
  parsed: z.infer<typeof V1Body>,
  supportedFields: object = openaiChatFields,
): ChatRequest & Pick<OfferedTools, 'providerRun'> {
  const extra = furtherFields(parsed, supportedFields);
  const { model, messages, max_tokens, max_completion_tokens, temperature, top_p, stop } = parsed;
  if (isNonNull(max_tokens) && isNonNull(max_completion_tokens) && max_tokens !== max_completion_tokens) {
    throw new GatewayError('invalid_value', {
      param: 'max_completion_tokens',
      message: 'max_completion_tokens and max_tokens are the same setting and must not differ.',
    });
  }
  if (isNonNull(parsed.stream_options) && parsed.stream !== true) {
    const message = 'stream_options needs stream: true.';
    throw new GatewayError('invalid_value', { param: 'stream_options', message });
  }
  const { tools, toolChoice, providerRun } = chosenTools(
    toChosen(parsed.tool_choice),
    offeredChatTools(parsed.tools ?? []),
  );
  const canonical = messages.map(toMessage);
  checkConversation(canonical, 'messages');
  return {
    model,
    messages: canonical,
    tools,
    ...toLength(max_tokens ?? max_completion_tokens),
    ...toTemperature(temperature, top_p),
    ...nonNullFields({
      toolChoice,
      parallelToolCalls: parsed.parallel_tool_calls,
      responseFormat: parsed.response_format && toFormat(parsed.response_format),
      topP: top_p,
      ...readOptionalFields('openai', parsed),
      stop: typeof stop === 'string' ? [stop] : stop,
      user: parsed.safety_identifier ?? parsed.user,
    }),
    extra,
    providerRun,
  };
}

/** Whether a valid request asks for a last chunk with the counts. */
export const wantsUsage = (body: JsonObject): boolean =>
  JsonRecord.safeParse(body['stream_options']).data?.['include_usage'] === true;

const name = z.string().max(256).nullish();

const ToolCallIn = z.object({
  id: z.string().min(1).max(512),
  type: z.literal('function').optional(),
  function: z.object({ name: FunctionName, arguments: z.string() }),
  extra_content: z.object({ google: z.object({ thought_signature: z.string().optional() }).optional() }).nullish(),
});

const CustomCallIn = z.object({
  id: z.string().min(1).max(512),
  type: z.literal('custom'),
  custom: z.object({ name: FunctionName, input: z.string() }),
  cache_control: CacheMark,
});
const V1FunctionCallIn = ToolCallIn.extend({ cache_control: CacheMark });
type CallIn = z.infer<typeof V1FunctionCallIn> | z.infer<typeof CustomCallIn>;
const V1ToolCallIn = chosenBy(
  (value): z.ZodType<CallIn> => (typeIn(value) === 'custom' ? CustomCallIn : V1FunctionCallIn),
  [V1FunctionCallIn, CustomCallIn],
);

const isEmptyList = (value: unknown): boolean => Array.isArray(value) && value.length === 0;

const messagesWith = <
  Call extends z.ZodType<CallIn>,
  User extends z.ZodType<ContentIn>,
  Assistant extends z.ZodType<ContentIn>,
  Result extends z.ZodType<ContentIn>,
>(
  call: Call,
  { text, user, assistant, result }: Pick<Contents, 'text'> & { user: User; assistant: Assistant; result: Result },
  mayBeSilent: boolean,
) => ({
  system: z.object({ role: z.literal('system'), content: text, name }),
  developer: z.object({ role: z.literal('developer'), content: text, name }),
  user: z.object({ role: z.literal('user'), content: user, name }),
  assistant: z
    .object({
      role: z.literal('assistant'),
      // LangChain's clients send an empty list back where the model only called tools.
      content: z.preprocess((value) => (isEmptyList(value) ? null : value), assistant.nullish()),
      refusal: z.string().nullish(),
      tool_calls: arrayOf(call, { max: toolsMax }).nullish(),
      reasoning_content: z.string().nullish(),
      // Retired fields, which SDKs send back as null with an earlier answer.
      function_call: z.null().optional(),
      audio: z.null().optional(),
      name,
    })
    .superRefine((message, context) => {
      if (!mayBeSilent && isSilent(message)) {
        context.addIssue({ code: 'custom', path: ['content'], message: 'is required where there are no tool_calls' });
      }
    }),
  tool: z.object({ role: z.literal('tool'), content: result, tool_call_id: z.string().min(1).max(512) }),
});
/** Whether a turn of the model has neither text nor calls. */
const isSilent = (turn: { content?: unknown; refusal?: unknown; tool_calls?: readonly unknown[] | null | undefined }) =>
  !isNonNull(turn.content) && !isNonNull(turn.refusal) && (turn.tool_calls?.length ?? 0) === 0;
const contents = contentsOf(itemsMax);
const plain = messagesWith(ToolCallIn, { ...contents, result: contents.text }, false);
const Message = z.discriminatedUnion('role', [plain.system, plain.developer, plain.user, plain.assistant, plain.tool]);

// Agents send the screenshots of their tools as a user does.
const v1Fields = {
  ...v1Contents,
  user: v1Content,
  // Zed sends an empty list, and go-openai nothing, for what a tool answered without a word.
  result: z.preprocess((value) => (isEmptyList(value) ? '' : (value ?? '')), v1Content),
};
// An answer of thoughts alone comes back without a text.
const v1 = messagesWith(V1ToolCallIn, v1Fields, true);
/** opencode marks whole messages for the prompt cache. */
const V1Message = z.discriminatedUnion('role', [
  v1.system.extend({ cache_control: CacheMark }),
  v1.developer.extend({ cache_control: CacheMark }),
  v1.user.extend({ cache_control: CacheMark }),
  v1.assistant.safeExtend({ cache_control: CacheMark }),
  v1.tool.extend({ cache_control: CacheMark }),
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
  messages: arrayOf(Message, { min: 1, max: itemsMax }),
  max_tokens: MaxTokens.nullish(),
  max_completion_tokens: MaxTokens.nullish(),
  temperature: Temperature.nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  ...optionalFields('openai'),
  stop: z.union([z.string().min(1).max(500), z.array(z.string().min(1).max(500)).max(4)]).nullish(),
  user: z.string().max(512).nullish(),
  tools: z.array(ChatFunction).max(toolsMax).nullish(),
  tool_choice: FunctionChoice.nullish(),
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
/** The fields that are read otherwise under `/v1`. */
export const v1OpenaiChatFields = {
  messages: arrayOf(V1Message, { min: 1, max: v1ItemsMax }),
  tools: z.array(V1ChatTool).max(v1ToolsMax).nullish(),
  tool_choice: V1ToolChoice.nullish(),
  max_tokens: V1MaxTokens.nullish(),
  // Roo Code sends -1 where the user sets no limit.
  max_completion_tokens: z.preprocess((value) => (value === -1 ? null : value), V1MaxTokens.nullish()),
  ...v1Sampling,
  // OpenAI's later name of `user`.
  safety_identifier: V1User.nullish(),
  user: V1User.nullish(),
  stop: z.union([z.string().min(1).max(500), V1Stops]).nullish(),
  stream_options: z
    .strictObject({ include_usage: z.boolean().nullish(), include_obfuscation: z.boolean().nullish() })
    .nullish(),
};
const V1Body = Body.extend(v1OpenaiChatFields);

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
function furtherFields(parsed: z.infer<typeof V1Body>, supportedFields: object): JsonObject {
  const unread = Object.fromEntries(
    Object.entries(parsed).filter(
      (entry): entry is [string, JsonValue] => isNonNull(entry[1]) && !Object.hasOwn(supportedFields, entry[0]),
    ),
  );
  const further = withoutHarmless(unread, harmlessChatFields);
  const param = Object.keys(further).find((field) => neverPassedThrough.includes(field));
  if (param === undefined) return further;
  const advice = supportedFields === openaiChatFields ? undefined : sendInstead[param];
  const message = [`The field ${param} is not supported, or not with this value.`, advice].filter(Boolean).join(' ');
  throw new GatewayError('unsupported_parameter', { param, message });
}

const noProbabilities = 'Probabilities of tokens are not passed on: leave it out.';
/** What clients of other vendors can do where such a field would change the shape or the price of the answer. */
const sendInstead: Readonly<Record<string, string>> = {
  n: 'Send the request once for each answer.',
  best_of: 'Send the request once for each answer, and choose one.',
  logprobs: noProbabilities,
  top_logprobs: noProbabilities,
  audio: 'Answers are text: leave it out, and send modalities: ["text"].',
  modalities: 'Answers are text: send ["text"], or leave it out.',
  functions: 'Send them as tools.',
  function_call: 'Send it as tool_choice.',
};

function toFormat(format: z.infer<typeof Format>): NonNullable<ChatRequest['responseFormat']> {
  if (format.type !== 'json_schema') return format;
  const { name: schemaName, description, schema, strict } = format.json_schema;
  return {
    type: 'json_schema',
    name: schemaName,
    schema: schema ?? { type: 'object' },
    ...nonNullFields({ description, strict }),
  };
}

function toMessage(message: z.infer<typeof V1Message>, index: number): ChatMessage {
  const mark = message.cache_control;
  const toMarkedContent = (content: ContentIn): ChatContent => {
    const parts = toChatContent(content, `messages.${index}.content`);
    return isNonNull(mark) ? markedContent(parts, mark) : parts;
  };
  if (message.role === 'tool') {
    return { role: 'tool', toolCallId: message.tool_call_id, content: toMarkedContent(message.content) };
  }
  const named = isNonNull(message.name) && message.name !== '' && { name: message.name };
  if (message.role !== 'assistant') return { role: message.role, content: toMarkedContent(message.content), ...named };
  const content = isNonNull(message.content)
    ? toMarkedContent(message.content)
    : (message.refusal ?? (isSilent(message) ? '' : null));
  return {
    role: 'assistant',
    content,
    toolCalls: (message.tool_calls ?? []).map(toToolCall),
    ...nonNullFields({ reasoning: message.reasoning_content }),
    ...named,
  };
}

function toToolCall(call: CallIn): ToolCall {
  if (call.type === 'custom') {
    const { name: called, input } = call.custom;
    const cached = nonNullFields({ cacheControl: call.cache_control });
    return { id: call.id, name: called, arguments: customArguments(input), isCustom: true, ...cached };
  }
  const { id, function: called, extra_content, cache_control: cacheControl } = call;
  const signature = extra_content?.google?.thought_signature;
  return { id, name: called.name, arguments: called.arguments, ...nonNullFields({ signature, cacheControl }) };
}
