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
import { validate } from '../validate.ts';
import { given, isGiven, withoutHarmless, type HarmlessValues } from './chat-fields.ts';
import { inWords } from './dialect-words.ts';
import { known, ResponsesBody, type InputItem, type InputPart, type ResponseTool } from './responses-fields.ts';
import { fromToken, withSignatures, type CallSignature } from './thought-token.ts';

/**
 * Reads a Responses request. Throws `missing_parameter`, `invalid_value` or `unsupported_parameter` with `param`. Null in an optional
 * field means absent. Nothing is stored, so a request that needs an earlier response is refused. Without a `temperature` the model's own
 * applies, as at OpenAI.
 */
export function readResponses(body: JsonObject): ChatRequest {
  const asked = validate(ResponsesBody, body);
  const extra = furtherFields(asked);
  const messages: ChatMessage[] = [
    ...(asked.instructions ? [{ role: 'system' as const, content: asked.instructions }] : []),
    ...toMessages(asked.input),
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
    }),
    extra: { ...extra, ...given({ reasoning_effort: effort, verbosity }) },
  };
}

/** Refusals of the shared checks in the words of the Responses API. */
export const inResponsesWords = (error: unknown): unknown => inWords(words, error);

const words = {
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

/** Fields that need a store of responses, a tool that the provider runs, or a shape of the answer that is not written. */
const refusedFields: Readonly<Record<string, string>> = {
  store: 'Responses are not stored here: store must be false or absent.',
  background: 'Responses are not stored here: background must be false or absent.',
  previous_response_id:
    'Responses are not stored here: send the earlier items in input instead of previous_response_id.',
  conversation: 'Conversations are not stored here: send the earlier items in input.',
  prompt: 'Prompts are not stored here: send their text in instructions or input.',
  truncation: 'The input is not truncated here: truncation must be disabled or absent.',
  top_logprobs: 'The field top_logprobs is not supported, or not with this value.',
  max_tool_calls: 'The field max_tool_calls is not supported: it limits tools that are not offered here.',
};

/** The fields that are neither read here nor harmless: each channel's list decides about them. */
function furtherFields(asked: z.infer<typeof ResponsesBody>): JsonObject {
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
  return further;
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
function toMessages(input: string | readonly InputItem[]): ChatMessage[] {
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
      turnFor(hasSpoken).content = toContent(item.content);
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
