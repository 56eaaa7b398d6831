import type { z } from 'zod';
import {
  checkConversation,
  type CacheControl,
  type ChatContent,
  type ChatMessage,
  type ChatPart,
  type ChatRequest,
  type ToolCall,
} from '../../domain/chat.ts';
import { GatewayError, quoted } from '../../domain/errors.ts';
import type { JsonObject } from '../../domain/json.ts';
import { effortOfBudget } from '../../domain/reasoning.ts';
import type { SignedThought, Thinking } from '../../domain/thoughts.ts';
import {
  CountBody,
  MessagesBody,
  messagesRules,
  type AssistantBlock,
  type ImageBlock,
  type Message,
  type TextBlock,
  type Tool,
  type UserBlock,
} from './anthropic-chat-fields.ts';
import { given, isGiven } from './chat-fields.ts';
import { inWords } from './dialect-words.ts';
import { readBody, strictly, VendorFieldCollector, type Reading } from './reading.ts';
import { fromToken, withSignatures } from './thought-token.ts';

/**
 * Reads a Messages request. Throws `missing_parameter`, `invalid_value` or `unsupported_parameter` with `param`. Null in an optional field
 * means absent. Without a `temperature` the model's own applies, as at Anthropic.
 */
export function readMessages(body: JsonObject, reading: Reading = strictly): ChatRequest {
  const { asked, leftOut } = readBody(MessagesBody, withoutNulls(body), messagesRules, reading);
  const request = toRequest(asked, asked.max_tokens, reading);
  const stop = asked.stop_sequences;
  return {
    ...request,
    ...given({
      temperature: asked.temperature,
      topP: asked.top_p,
      topK: asked.top_k,
      stop: stop?.length ? stop : null,
      user: asked.metadata?.user_id,
      leftOut,
    }),
  };
}

/** Reads what a request to count tokens would send to the model. */
export function readTokenCount(body: JsonObject, reading: Reading = strictly): ChatRequest {
  const { asked, leftOut } = readBody(CountBody, withoutNulls(body), messagesRules, reading);
  return { ...toRequest(asked, 1, reading), ...given({ leftOut }) };
}

/** Refusals of the shared checks in Anthropic's words. */
export const inAnthropicWords = (error: unknown): unknown => inWords(anthropicWords, error);

export const anthropicWords = {
  response_format: 'output_config.format',
  reasoning_effort: 'output_config.effort',
  parallel_tool_calls: 'tool_choice.disable_parallel_tool_use',
  stop: 'stop_sequences',
  messages: 'messages',
};

/** The SDKs have many fields for services beside the model, which may be null. */
const withoutNulls = (body: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null));

type Asked = z.infer<typeof CountBody>;

function toRequest(asked: Asked, maxTokens: number, { betas }: Reading): ChatRequest {
  const { model, system, tool_choice: choice, output_config: output } = asked;
  const own = new VendorFieldCollector();
  own.add(given({ context_management: asked.context_management }));
  if (asked.thinking && asked.thinking.type !== 'disabled')
    own.add(given({ block_binding: asked.thinking.block_binding }), 'thinking');
  const messages: ChatMessage[] = [
    ...(isGiven(system) ? [{ role: 'system' as const, content: toContent(system) }] : []),
    ...toMessages(asked.messages, own),
  ];
  checkConversation(messages, 'messages');
  const tools = (asked.tools ?? []).map((tool, index) => toTool(tool, own.of(`tools.${index}`, ownToolFields(tool))));
  const toolChoice = readToolChoice(choice, tools);
  checkThinking(asked, maxTokens);
  const effort = output?.effort ?? budgetEffort(asked.thinking);
  const format = output?.format ?? asked.output_format;
  const last = messages.at(-1);
  return {
    model,
    messages: isGiven(asked.cache_control) ? markedAtItsEnd(messages, asked.cache_control) : messages,
    tools,
    maxTokens,
    ...given({
      toolChoice,
      parallelToolCalls: choice && choice.type !== 'none' && choice.disable_parallel_tool_use === true ? false : null,
      responseFormat: format && { type: 'json_schema' as const, name: 'response', schema: format.schema },
      thinking: toThinking(asked),
      vendor: own.toVendor('anthropic', betas),
    }),
    ...(last?.role === 'assistant' && last.toolCalls.length === 0 && { isPrefilled: true }),
    extra: isGiven(effort) ? { reasoning_effort: effort } : {},
  };
}

const toTool = (
  { name, description, input_schema: parameters, strict, cache_control: cacheControl }: Tool,
  vendor: JsonObject | undefined,
) => ({ name, parameters, ...given({ description, strict, cacheControl, vendor }) });

/** Tools that wait until the model searches for them, and examples of their input. */
const ownToolFields = ({ defer_loading, input_examples }: Tool): JsonObject =>
  given({ defer_loading: defer_loading || null, input_examples: input_examples?.length ? input_examples : null });

function readToolChoice(choice: Asked['tool_choice'], tools: readonly { name: string }[]): ChatRequest['toolChoice'] {
  if (!isGiven(choice)) return undefined;
  const { type } = choice;
  if (tools.length === 0 && (type === 'none' || type === 'auto')) return undefined;
  if (type === 'tool' && tools.some(({ name }) => name === choice.name)) return { name: choice.name };
  if (type === 'tool' || tools.length === 0) throw refused('tool_choice', 'must name a tool of this request');
  return type === 'any' ? 'required' : type;
}

/** Anthropic's own rules. Beyond them its models would think less than was asked, or not at all. */
function checkThinking({ thinking, tool_choice: choice }: Asked, maxTokens: number): void {
  if (!isGiven(thinking) || thinking.type === 'disabled') return;
  if (thinking.type === 'enabled' && thinking.budget_tokens >= maxTokens && maxTokens > 1)
    throw refused('thinking.budget_tokens', 'must be less than max_tokens');
  if (choice?.type === 'any' || choice?.type === 'tool')
    throw refused('tool_choice', 'must not force a tool while thinking is enabled');
}

const budgetEffort = (thinking: Asked['thinking']) =>
  thinking?.type === 'enabled' ? effortOfBudget(thinking.budget_tokens) : undefined;

function toThinking({ thinking, output_config: output }: Asked): Thinking | undefined {
  if (!isGiven(thinking)) return isGiven(output?.effort) ? { mode: 'model' } : undefined;
  if (thinking.type === 'disabled') return { mode: 'off' };
  const shared = { isSigned: true as const, ...given({ display: thinking.display }) };
  return thinking.type === 'adaptive'
    ? { mode: 'adaptive', ...shared }
    : { mode: 'budget', budgetTokens: thinking.budget_tokens, ...shared };
}

function toMessages(messages: readonly Message[], own: VendorFieldCollector): ChatMessage[] {
  const called = new Set<string>();
  return messages.flatMap((message, index): ChatMessage[] => {
    const vendor = given({ vendor: own.of(`messages.${index}`, given({ output_config: message.output_config })) });
    if (message.role === 'system') return [{ role: 'system', content: toContent(message.content), ...vendor }];
    if (typeof message.content === 'string') {
      if (message.role === 'user') return [{ role: 'user', content: message.content, ...vendor }];
      return [{ role: 'assistant', content: message.content, toolCalls: [], ...vendor }];
    }
    if (message.role === 'user') {
      return toUserMessages(message.content, called, `messages.${index}.content`).map((one) => ({ ...one, ...vendor }));
    }
    const turn = toAssistant(message.content);
    for (const { id } of turn.toolCalls) called.add(id);
    return [{ ...turn, ...vendor }];
  });
}

/** The results of tools come before what else the user says. */
function toUserMessages(blocks: readonly UserBlock[], called: ReadonlySet<string>, at: string): ChatMessage[] {
  const results = blocks.flatMap((block, index): ChatMessage[] => {
    if (block.type !== 'tool_result') return [];
    const { tool_use_id: toolCallId, content, is_error: isError, cache_control: mark } = block;
    if (!called.has(toolCallId))
      throw refused(`${at}.${index}.tool_use_id`, `no earlier tool_use block has the id ${quoted(toolCallId)}`);
    const said = toContent(content ?? '');
    return [
      {
        role: 'tool',
        toolCallId,
        content: isGiven(mark) ? marked(said, mark) : said,
        ...(isError === true && { isError }),
      },
    ];
  });
  const parts = blocks.flatMap((block) => (block.type === 'tool_result' ? [] : [toPart(block)]));
  return parts.length > 0 || results.length === 0 ? [...results, { role: 'user', content: parts }] : results;
}

function toAssistant(blocks: readonly AssistantBlock[]): Extract<ChatMessage, { role: 'assistant' }> {
  const tokens = blocks.flatMap((block) =>
    block.type === 'thinking' && block.signature
      ? [fromToken(block.signature, 'anthropic', { text: block.thinking })]
      : block.type === 'redacted_thinking'
        ? [{ kind: 'anthropic_redacted' as const, text: '', signature: block.data }]
        : [],
  );
  const unsigned = blocks.flatMap((block) =>
    block.type === 'thinking' && !block.signature && block.thinking !== '' ? [block.thinking] : [],
  );
  const parts = blocks.flatMap((block) => (block.type === 'text' ? [toPart(block)] : []));
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
          ...given({ cacheControl: block.cache_control }),
        },
      ]
    : [];

const toContent = (content: string | readonly (TextBlock | ImageBlock)[]): ChatContent =>
  typeof content === 'string' ? content : content.map(toPart);

function toPart(block: TextBlock | ImageBlock): ChatPart {
  const cached = given({ cacheControl: block.cache_control });
  if (block.type === 'text') return { type: 'text', text: block.text, ...cached };
  const { source } = block;
  const url = source.type === 'url' ? source.url : `data:${source.media_type};base64,${source.data}`;
  return { type: 'image', url, ...cached };
}

/** The content with a mark for the prompt cache at its end, unless there is one. */
function marked<Content extends ChatContent | null>(
  content: Content,
  cacheControl: CacheControl,
): ChatContent | Content {
  const parts: ChatPart[] = typeof content === 'string' ? [{ type: 'text', text: content }] : (content ?? []);
  return parts.map((part, index) => (index === parts.length - 1 ? { cacheControl, ...part } : part));
}

/** Anthropic's mark for the whole request: it stands at the last block that can be cached. */
function markedAtItsEnd(messages: readonly ChatMessage[], cacheControl: CacheControl): ChatMessage[] {
  const last = messages.findLastIndex(({ content }) => content !== null && content.length > 0);
  return messages.map((message, index) => {
    if (index !== last) return message;
    return message.role === 'assistant'
      ? { ...message, content: marked(message.content, cacheControl) }
      : { ...message, content: marked(message.content, cacheControl) };
  });
}

const refused = (param: string, what: string): GatewayError =>
  new GatewayError('invalid_value', { param, message: `${param}: ${what}` });
