import type { z } from 'zod';
import {
  checkConversation,
  type CacheControl,
  type ChatMessage,
  type ChatRequest,
  type ToolCall,
} from '../../../domain/chat/chat.ts';
import { quoted } from '../../../domain/errors.ts';
import { isObject, type JsonObject } from '../../../domain/json.ts';
import { effortOfBudget } from '../../../domain/chat/reasoning.ts';
import type { SignedThought, Thinking } from '../../../domain/chat/thoughts.ts';
import {
  Compaction,
  CountBody,
  KeepsAll,
  MessagesBody,
  messagesRules,
  type AssistantBlock,
  type AnthropicClientTool,
  type AnthropicCustomTool,
  type MessageIn,
  type ProviderBlock,
  type SystemMessage,
  type AnthropicTool,
  type UserBlock,
} from './anthropic-chat-fields.ts';
import { contentOfBlocks, toChatParts } from './anthropic-chat-parts.ts';
import { checkThinking } from './check-thinking.ts';
import { asFunction } from './client-tools.ts';
import { markedContent } from '../cache-mark.ts';
import { fieldError, nonNullFields, isNonNull } from '../chat-fields.ts';
import { inWords } from '../dialect-words.ts';
import type { OfferedTools } from '../offered-tools.ts';
import { optionalWords, readOptionalFields } from '../optional-fields.ts';
import { forcedProviderTool, leftOutHistory, leftOutTools, type ProviderPart } from '../provider-tools.ts';
import { readBody, strictly, VendorFieldCollector, type Reading } from '../reading.ts';
import { fromToken, withSignatures } from '../thought-token.ts';

/**
 * Reads a Messages request. Throws `missing_parameter`, `invalid_value` or `unsupported_parameter` with `param`. Null in an optional field
 * means absent. Without a `temperature` the model's own applies, as at Anthropic.
 */
export function readMessages(body: JsonObject, reading: Reading = strictly): ChatRequest {
  const { parsed, leftOut } = readBody(MessagesBody, withoutNulls(body), messagesRules, reading);
  const { unoffered, ...request } = toRequest(parsed, parsed.max_tokens, reading);
  const stop = parsed.stop_sequences;
  return {
    ...request,
    ...nonNullFields({
      temperature: parsed.temperature,
      topP: parsed.top_p,
      ...readOptionalFields('anthropic', parsed),
      stop: stop?.length ? stop : null,
      user: parsed.metadata?.user_id,
      leftOut: leftOut && [...leftOut, ...unoffered],
    }),
  };
}

/** Reads what a request to count tokens would send to the model. */
export function readTokenCount(body: JsonObject, reading: Reading = strictly): ChatRequest {
  const { parsed, leftOut } = readBody(CountBody, withoutNulls(body), messagesRules, reading);
  const { unoffered, ...request } = toRequest(parsed, null, reading);
  return { ...request, ...nonNullFields({ leftOut: leftOut && [...leftOut, ...unoffered] }) };
}

/** Refusals of the shared checks in Anthropic's words. */
export const inAnthropicWords = (error: unknown): unknown => inWords(anthropicWords, error);

export const anthropicWords = {
  response_format: 'output_config.format',
  reasoning_effort: 'output_config.effort',
  parallel_tool_calls: 'tool_choice.disable_parallel_tool_use',
  ...optionalWords('anthropic'),
  messages: 'messages',
  'tools.*.function.parameters': 'tools.*.input_schema',
};

/** The SDKs have many fields for services beside the model, which may be null. */
const withoutNulls = (body: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null));

type ParsedBody = z.infer<typeof CountBody>;

/** The request, and what is left out of it because the provider would run it. A count of tokens has no limit of the answer. */
function toRequest(
  parsed: ParsedBody,
  maxTokens: number | null,
  reading: Reading,
): ChatRequest & { unoffered: string[] } {
  const { model, system, tool_choice: choice, output_config: output } = parsed;
  const own = new VendorFieldCollector();
  const { management: context_management, compactions } = withoutCompactions(parsed.context_management);
  own.add(nonNullFields({ context_management }), undefined, { isWithoutEffect: keepsAll(context_management) });
  if (parsed.thinking && parsed.thinking.type !== 'disabled')
    own.add(nonNullFields({ block_binding: parsed.thinking.block_binding }), 'thinking');
  const conversation = toMessages(parsed.messages, own);
  const messages: ChatMessage[] = [
    ...(isNonNull(system) ? [{ role: 'system' as const, content: contentOfBlocks(system) }] : []),
    ...conversation.messages,
  ];
  checkConversation(messages, 'messages');
  const { tools, providerRun } = offered(parsed.tools ?? [], own);
  const toolChoice = readToolChoice(choice, { tools, requestedTools: parsed.tools ?? [] });
  const isForced = toolChoice === 'required';
  const unoffered = [
    ...leftOutTools(providerRun, { ...reading, isForced }),
    ...leftOutHistory([...compactions, ...conversation.providerRun], reading),
  ];
  checkThinking(parsed, maxTokens, reading);
  const effort = output?.effort ?? budgetEffort(parsed.thinking);
  const format = output?.format ?? parsed.output_format;
  const last = messages.at(-1);
  return {
    model,
    messages: isNonNull(parsed.cache_control) ? markedAtItsEnd(messages, parsed.cache_control) : messages,
    tools,
    maxTokens: maxTokens ?? 1,
    ...nonNullFields({
      toolChoice,
      parallelToolCalls: choice && choice.type !== 'none' && choice.disable_parallel_tool_use === true ? false : null,
      responseFormat: format && { type: 'json_schema' as const, name: 'response', schema: format.schema },
      thinking: toThinking(parsed),
      vendor: own.toVendor('anthropic', reading.betas),
    }),
    ...(last?.role === 'assistant' && last.toolCalls.length === 0 && { isPrefilled: true }),
    extra: isNonNull(effort) ? { reasoning_effort: effort } : {},
    unoffered,
  };
}

/** The edits of the context without compactions, or null if no other is left, and where the compactions stand. */
function withoutCompactions(management: ParsedBody['context_management']) {
  if (!isObject(management) || !Array.isArray(management.edits)) return { management, compactions: [] };
  const kinds = management.edits.map((edit) => Compaction.safeParse(edit).data?.type);
  const compactions = kinds.flatMap((kind, n) => (kind ? [{ path: `context_management.edits.${n}`, kind }] : []));
  if (compactions.length === 0) return { management, compactions };
  const edits = management.edits.filter((_, index) => kinds[index] === undefined);
  return { management: edits.length > 0 ? { ...management, edits } : null, compactions };
}

/** Whether the edits of the context drop nothing, as those that Claude Code asks for with every request. */
const keepsAll = (management: ParsedBody['context_management']): boolean => KeepsAll.safeParse(management).success;

/**
 * The tools, and those that the provider would run. A tool with `defer_loading` waits until a search finds it. If that is the provider's own
 * search, which is not offered here, all tools are offered from the beginning.
 */
function offered(tools: readonly AnthropicTool[], own: VendorFieldCollector): OfferedTools {
  const providerRun = tools.flatMap((tool, index) =>
    tool.type === 'provider' ? [{ path: `tools.${index}`, kind: tool.kind }] : [],
  );
  const mayWait = !providerRun.some(({ kind }) => kind.startsWith('tool_search_tool'));
  return {
    providerRun,
    tools: tools.flatMap((tool, index) => {
      if (tool.type === 'provider') return [];
      const path = `tools.${index}`;
      const fields = own.of(path, ownToolFields(tool, mayWait));
      return tool.type === 'client' ? asFunction(tool, path, fields, own) : [toTool(tool, fields)];
    }),
  };
}

const toTool = (
  { name, description, input_schema: parameters, strict, cache_control: cacheControl }: AnthropicCustomTool,
  vendor: JsonObject | undefined,
) => ({ name, parameters, ...nonNullFields({ description, strict, cacheControl, vendor }) });

/** What only Anthropic's API says of a tool. */
const ownToolFields = (
  { defer_loading, input_examples }: AnthropicCustomTool | AnthropicClientTool,
  mayWait: boolean,
): JsonObject =>
  nonNullFields({
    defer_loading: (mayWait && defer_loading) || null,
    input_examples: input_examples?.length ? input_examples : null,
  });

function readToolChoice(
  choice: ParsedBody['tool_choice'],
  { tools, requestedTools }: { tools: readonly { name: string }[]; requestedTools: readonly AnthropicTool[] },
): ChatRequest['toolChoice'] {
  if (!isNonNull(choice)) return undefined;
  const { type } = choice;
  if (tools.length === 0 && (type === 'none' || type === 'auto')) return undefined;
  if (type === 'tool' && tools.some(({ name }) => name === choice.name)) return { name: choice.name };
  const forced = requestedTools.flatMap((tool) =>
    tool.type === 'provider' && (type !== 'tool' || tool.name === choice.name) ? [tool.kind] : [],
  );
  if (type === 'tool' || tools.length === 0)
    throw forced[0] === undefined
      ? fieldError('tool_choice', type === 'any' ? 'needs a tool in this request' : 'must name a tool of this request')
      : forcedProviderTool(forced[0]);
  return type === 'any' ? 'required' : type;
}

const budgetEffort = (thinking: ParsedBody['thinking']) =>
  thinking?.type === 'enabled' ? effortOfBudget(thinking.budget_tokens) : undefined;

function toThinking({ thinking, output_config: output }: ParsedBody): Thinking | undefined {
  if (!isNonNull(thinking)) return isNonNull(output?.effort) ? { mode: 'model' } : undefined;
  if (thinking.type === 'disabled') return { mode: 'off' };
  const shared = { isSigned: true as const, ...nonNullFields({ display: thinking.display }) };
  return thinking.type === 'adaptive'
    ? { mode: 'adaptive', ...shared }
    : { mode: 'budget', budgetTokens: thinking.budget_tokens, ...shared };
}

/** The messages, and the blocks of tools that the provider ran, which are left out of them. Throws for a result without its call. */
function toMessages(
  conversation: readonly MessageIn[],
  own: VendorFieldCollector,
): { messages: ChatMessage[]; providerRun: ProviderPart[] } {
  const called = new Set<string>();
  const providerRun: ProviderPart[] = [];
  const messages = conversation.flatMap((message, index): ChatMessage[] => {
    const clear_at = message.role === 'system' && message.clear_at !== 'never' ? message.clear_at : undefined;
    const fields = nonNullFields({ output_config: message.output_config, clear_at });
    const vendor = nonNullFields({ vendor: own.of(`messages.${index}`, fields) });
    const at = `messages.${index}.content`;
    const unread = unreadBlocks(message.content, at);
    providerRun.push(...unread);
    if (message.role === 'system') return toSystem(message, vendor);
    if (typeof message.content === 'string') {
      if (message.role === 'user') return [{ role: 'user', content: message.content, ...vendor }];
      return [{ role: 'assistant', content: message.content, toolCalls: [], ...vendor }];
    }
    // Some providers refuse an empty message.
    if (unread.length > 0 && unread.length === message.content.length) return [];
    if (message.role === 'user') {
      return toUserMessages(message.content, called, at).map((one) => ({ ...one, ...vendor }));
    }
    const turn = toAssistant(message.content);
    for (const { id } of turn.toolCalls) called.add(id);
    return [{ ...turn, ...vendor }];
  });
  return { messages, providerRun };
}

/** Instructions between the turns. A message may have nothing but fields of its vendor, such as the effort of the turn. */
function toSystem({ content }: SystemMessage, vendor: { vendor?: JsonObject }): ChatMessage[] {
  const texts = typeof content === 'string' ? content : (content ?? []).filter((block) => block.type === 'text');
  if (texts.length === 0 && !vendor.vendor && content !== '') return [];
  return [{ role: 'system', content: texts.length === 0 ? '' : contentOfBlocks(texts), ...vendor }];
}

/** The blocks that belong to tools of the provider. `at` is the path of the content. */
const unreadBlocks = (content: MessageIn['content'], at: string): ProviderPart[] =>
  (Array.isArray(content) ? content : []).flatMap(({ type: kind }, index) =>
    readBlocks.includes(kind) ? [] : [{ path: `${at}.${index}`, kind }],
  );

const isOfProvider = (block: UserBlock | AssistantBlock): block is ProviderBlock => !readBlocks.includes(block.type);
const readBlocks: readonly string[] = [
  'text',
  'image',
  'document',
  'tool_use',
  'tool_result',
  'search_result',
  'thinking',
  'redacted_thinking',
];

/** The results of tools come before what else the user says. */
function toUserMessages(blocks: readonly UserBlock[], called: ReadonlySet<string>, at: string): ChatMessage[] {
  const results = blocks.flatMap((block, index): ChatMessage[] => {
    if (block.type !== 'tool_result') return [];
    const { tool_use_id: toolCallId, content, is_error: isError, cache_control: mark } = block;
    if (!called.has(toolCallId))
      throw fieldError(`${at}.${index}.tool_use_id`, `no earlier tool_use block has the id ${quoted(toolCallId)}`);
    const chatContent = contentOfBlocks(content ?? '', `${at}.${index}.content`);
    return [
      {
        role: 'tool',
        toolCallId,
        content: isNonNull(mark) ? markedContent(chatContent, mark) : chatContent,
        ...(isError === true && { isError }),
      },
    ];
  });
  const parts = blocks.flatMap((block, index) =>
    block.type === 'tool_result' || isOfProvider(block) ? [] : toChatParts(block, `${at}.${index}`),
  );
  return parts.length > 0 || results.length === 0 ? [...results, { role: 'user', content: parts }] : results;
}

function toAssistant(blocks: readonly AssistantBlock[]): Extract<ChatMessage, { role: 'assistant' }> {
  const tokens = blocks.flatMap((block) =>
    block.type === 'thinking' && block.signature
      ? [fromToken(block.signature, 'anthropic', { text: block.thinking })]
      : block.type === 'redacted_thinking'
        ? // Clients in C# send a thought without text back as a redacted one.
          [fromToken(block.data, 'anthropic_redacted', { text: '' })]
        : [],
  );
  const unsigned = blocks.flatMap((block) =>
    block.type === 'thinking' && !block.signature && block.thinking !== '' ? [block.thinking] : [],
  );
  const parts = blocks.flatMap((block) => (block.type === 'text' ? toChatParts(block, '') : []));
  const thoughts = tokens.filter((token): token is SignedThought => 'kind' in token);
  return {
    role: 'assistant',
    content: parts.length > 0 ? parts : null,
    toolCalls: withSignatures(
      blocks.flatMap(toToolCall),
      tokens.filter((token) => 'callId' in token),
    ),
    ...(unsigned.length > 0 && { reasoning: unsigned.join('\n\n') }),
    ...(thoughts.length > 0 && { thoughts }),
  };
}

const toToolCall = (block: AssistantBlock): ToolCall[] =>
  block.type === 'tool_use'
    ? [
        {
          id: block.id,
          name: block.name,
          arguments: JSON.stringify(block.input),
          ...nonNullFields({ cacheControl: block.cache_control }),
        },
      ]
    : [];

/** Anthropic's mark for the whole request: it stands at the last block that can be cached. */
function markedAtItsEnd(messages: readonly ChatMessage[], cacheControl: CacheControl): ChatMessage[] {
  const last = messages.findLastIndex(({ content }) => content !== null && content.length > 0);
  return messages.map((message, index) => {
    if (index !== last || message.content === null) return message;
    const content = markedContent(message.content, cacheControl);
    return message.role === 'assistant' ? { ...message, content } : { ...message, content };
  });
}
