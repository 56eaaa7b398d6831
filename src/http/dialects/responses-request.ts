import type { z } from 'zod';
import {
  checkConversation,
  toLength,
  type ChatContent,
  type ChatMessage,
  type ChatPart,
  type ChatRequest,
  type ResponseFormat,
} from '../../domain/chat.ts';
import { GatewayError, quoted } from '../../domain/errors.ts';
import type { JsonObject, JsonValue } from '../../domain/json.ts';
import type { SignedThought, Thinking } from '../../domain/thoughts.ts';
import { given, isGiven, withoutHarmless, type HarmlessValues } from './chat-fields.ts';
import { inWords } from './dialect-words.ts';
import { readBody, strictly, VendorFieldCollector, type Reading } from './reading.ts';
import {
  known,
  ResponsesBody,
  responsesRules,
  type InputItem,
  type InputPart,
  type ResponseTool,
} from './responses-fields.ts';
import { fromToken, withSignatures, type CallSignature } from './thought-token.ts';

/**
 * Reads a Responses request. Throws `missing_parameter`, `invalid_value` or `unsupported_parameter` with `param`. Null in an optional
 * field means absent. Nothing is stored, so a request that needs an earlier response is refused. Without a `temperature` the model's own
 * applies, as at OpenAI.
 */
export function readResponses(body: JsonObject, reading: Reading = strictly): ChatRequest {
  const unread = reading.isStrict ? [] : withoutFurtherIncludes(body);
  const { asked, leftOut } = readBody(ResponsesBody, body, responsesRules, reading);
  const own = new VendorFieldCollector();
  own.add(given({ context: asked.reasoning?.context === 'auto' ? null : asked.reasoning?.context }), 'reasoning');
  const extra = furtherFields(asked, own);
  const messages: ChatMessage[] = [
    ...(asked.instructions ? [{ role: 'system' as const, content: asked.instructions }] : []),
    ...toMessages(asked.input, own),
  ];
  checkConversation(messages, 'input');
  const tools = (asked.tools ?? []).map(toTool);
  const { effort } = asked.reasoning ?? {};
  const { format, verbosity } = asked.text ?? {};
  return {
    model: asked.model,
    messages,
    tools,
    ...toLength(asked.max_output_tokens),
    ...given({
      toolChoice: readToolChoice(asked.tool_choice, tools),
      parallelToolCalls: asked.parallel_tool_calls,
      responseFormat: format && toFormat(format),
      temperature: asked.temperature,
      topP: asked.top_p,
      user: asked.safety_identifier ?? asked.user,
      thinking: toThinking(asked),
      vendor: own.toVendor('responses'),
      leftOut: leftOut && [...unread, ...leftOut],
    }),
    extra: { ...extra, ...given({ reasoning_effort: effort, verbosity }) },
  };
}

/**
 * Removes what `include` asks of tools that the provider runs, and returns the paths. What it asks of the answer itself stays, so that it is
 * refused.
 */
function withoutFurtherIncludes(body: JsonObject): string[] {
  const { include } = body;
  if (!Array.isArray(include)) return [];
  const isLeftOut = (one: JsonValue): boolean =>
    typeof one === 'string' && !/^(reasoning\.encrypted_content|message\.output_text\.)/.test(one);
  body['include'] = include.filter((one) => !isLeftOut(one));
  return include.flatMap((one, index) => (isLeftOut(one) ? [`include.${index}`] : []));
}

/** Refusals of the shared checks in the words of the Responses API. */
export const inResponsesWords = (error: unknown): unknown => inWords(responsesWords, error);

export const responsesWords = {
  messages: 'input',
  max_tokens: 'max_output_tokens',
  response_format: 'text.format',
  reasoning_effort: 'reasoning.effort',
  verbosity: 'text.verbosity',
};

/** Values that change nothing. A field with such a value is accepted and not sent. */
const harmless: HarmlessValues = {
  store: [false],
  background: [false],
  truncation: ['disabled'],
  service_tier: ['auto', 'default'],
  top_logprobs: [0],
};

/** What OpenAI alone knows, and what changes neither the answer nor its price. */
const ownFields: readonly string[] = ['prompt_cache_retention', 'prompt_cache_options', 'truncation'];
const withoutEffect: readonly string[] = ['client_metadata'];

/** Fields that need a store of responses, a tool that the provider runs, or a shape of the answer that is not written. */
const refusedFields: Readonly<Record<string, string>> = {
  store: 'Responses are not stored here: store must be false or absent.',
  background: 'Responses are not stored here: background must be false or absent.',
  previous_response_id:
    'Responses are not stored here: send the earlier items in input instead of previous_response_id.',
  conversation: 'Conversations are not stored here: send the earlier items in input.',
  prompt: 'Prompts are not stored here: send their text in instructions or input.',
  top_logprobs: 'The field top_logprobs is not supported, or not with this value.',
};

/** The fields that are neither read here nor harmless: each channel's list decides about them. */
function furtherFields(asked: z.infer<typeof ResponsesBody>, own: VendorFieldCollector): JsonObject {
  const unread = Object.fromEntries(
    Object.entries(asked).filter(
      (entry): entry is [string, JsonValue] => isGiven(entry[1]) && !Object.hasOwn(known, entry[0]),
    ),
  );
  const further = withoutHarmless(unread, harmless);
  for (const param of Object.keys(further)) {
    const message = Object.hasOwn(refusedFields, param) ? refusedFields[param] : undefined;
    if (message !== undefined) throw new GatewayError('unsupported_parameter', { param, message });
  }
  const isOf = (list: readonly string[]) => Object.entries(further).filter(([field]) => list.includes(field));
  own.add(Object.fromEntries(isOf(ownFields)));
  const taken = [...ownFields, ...withoutEffect];
  return Object.fromEntries(Object.entries(further).filter(([field]) => !taken.includes(field)));
}

const toTool = ({ name, description, parameters, strict }: ResponseTool) => ({
  name,
  ...given({ description, parameters, strict }),
});

function readToolChoice(
  choice: z.infer<typeof ResponsesBody>['tool_choice'],
  tools: readonly { name: string }[],
): ChatRequest['toolChoice'] {
  if (!isGiven(choice) || (tools.length === 0 && (choice === 'none' || choice === 'auto'))) return undefined;
  const isOffered = typeof choice === 'string' ? tools.length > 0 : tools.some(({ name }) => name === choice.name);
  if (!isOffered) throw refused('tool_choice', 'must name a tool of this request');
  return typeof choice === 'string' ? choice : { name: choice.name };
}

function toFormat(format: NonNullable<NonNullable<z.infer<typeof ResponsesBody>['text']>['format']>): ResponseFormat {
  if (format.type !== 'json_schema') return format;
  const { type, name, schema, description, strict } = format;
  return { type, name, schema, ...given({ description, strict }) };
}

function toThinking({ reasoning, include }: z.infer<typeof ResponsesBody>): Thinking | undefined {
  const summary = reasoning?.summary ?? reasoning?.generate_summary;
  const isSigned = include?.includes('reasoning.encrypted_content') ?? false;
  if (!isGiven(summary) && !isSigned) return undefined;
  return { ...given({ summary }), ...(isSigned && { isSigned }) };
}

type Turn = Extract<ChatMessage, { role: 'assistant' }>;

/** One turn of the model may be several items: its thoughts, its text and its calls. */
function toMessages(input: string | readonly InputItem[], own: VendorFieldCollector): ChatMessage[] {
  if (typeof input === 'string') return [{ role: 'user', content: input }];
  const messages: ChatMessage[] = [];
  /** Signatures whose call comes next. Calls of different turns may have the same id. */
  const signatures: CallSignature[] = [];
  const called = new Set<string>();
  /** The model's turn, which items are still added to. */
  const turnFor = (isNew: (turn: Turn) => boolean): Turn => {
    const last = messages.at(-1);
    if (last?.role === 'assistant' && !isNew(last)) return last;
    const turn: Turn = { role: 'assistant', content: null, toolCalls: [] };
    messages.push(turn);
    return turn;
  };
  for (const [index, item] of input.entries()) {
    if (item.type === 'reasoning') {
      const token = tokenOf(item);
      // The signature of a call stands between the items of its turn.
      if (token && 'callId' in token) signatures.push(token);
      else addThought(turnFor(hasSpoken), item, token);
    } else if (item.type === 'function_call') {
      called.add(item.call_id);
      const call = { id: item.call_id, name: item.name, arguments: item.arguments };
      turnFor(() => false).toolCalls.push(...withSignatures([call], signatures.splice(0)));
    } else if (item.type === 'function_call_output') {
      if (!called.has(item.call_id))
        throw refused(`input.${index}.call_id`, `no earlier function_call has the call_id ${quoted(item.call_id)}`);
      messages.push({ role: 'tool', toolCallId: item.call_id, content: toContent(item.output) });
    } else if (item.role === 'assistant') {
      const vendor = own.of(`input.${index}`, given({ phase: item.phase }), { isWithoutEffect: true });
      Object.assign(turnFor(hasSpoken), { content: toContent(item.content), ...given({ vendor }) });
    } else {
      messages.push({ role: item.role, content: toContent(item.content) });
    }
  }
  return messages;
}

const hasSpoken = ({ content, toolCalls }: Turn): boolean => content !== null || toolCalls.length > 0;

type ReasoningItem = Extract<InputItem, { type: 'reasoning' }>;

const tokenOf = ({ id, summary, encrypted_content: token }: ReasoningItem): SignedThought | CallSignature | null =>
  token ? fromToken(token, 'openai', { text: textOf(summary), ...(isGiven(id) && { id }) }) : null;

function addThought(turn: Turn, { summary, content }: ReasoningItem, signed: SignedThought | null): void {
  if (signed) {
    turn.thoughts = [...(turn.thoughts ?? []), signed];
    return;
  }
  const text = textOf(summary) || textOf(content ?? []);
  if (text !== '') turn.reasoning = turn.reasoning === undefined ? text : `${turn.reasoning}\n\n${text}`;
}

const textOf = (parts: readonly { text: string }[]): string => parts.map(({ text }) => text).join('\n\n');

const toContent = (content: string | readonly InputPart[]): ChatContent =>
  typeof content === 'string' ? content : content.map(toPart);

function toPart(part: InputPart): ChatPart {
  if (part.type === 'input_image') return { type: 'image', url: part.image_url, ...given({ detail: part.detail }) };
  return { type: 'text', text: part.type === 'refusal' ? part.refusal : part.text };
}

const refused = (param: string, what: string): GatewayError =>
  new GatewayError('invalid_value', { param, message: `${param}: ${what}` });
