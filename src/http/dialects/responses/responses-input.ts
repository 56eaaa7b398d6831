import {
  partsOfContent,
  type AssistantMessage,
  type ChatContent,
  type ChatMessage,
  type ChatPart,
  type ChatTool,
  type ToolCall,
} from '../../../domain/chat/chat.ts';
import { GatewayError, quoted } from '../../../domain/errors.ts';
import type { SignedThought } from '../../../domain/chat/thoughts.ts';
import { fieldError, nonNullFields, isNonNull } from '../chat-fields.ts';
import { customArguments } from '../custom-tool.ts';
import { missingFile, notStored, toFilePart } from '../document-part.ts';
import type { ProviderPart } from '../provider-tools.ts';
import type { VendorFieldCollector } from '../reading.ts';
import type { InputItem, InputPart } from './responses-fields.ts';
import { offeredName } from '../offered-tools.ts';
import { fromToken, withSignatures, type CallSignature } from '../thought-token.ts';

/**
 * The items as messages, and the items of tools that a provider ran. One turn of the model may be several items: its thoughts, its text and its
 * calls. Throws for a result without its call, and for a reference to a stored item.
 */
export function messagesOfInput(
  input: string | readonly InputItem[],
  { own, tools }: { own: VendorFieldCollector; tools: readonly ChatTool[] },
): { messages: ChatMessage[]; providerRun: ProviderPart[] } {
  if (typeof input === 'string') return { messages: [{ role: 'user', content: input }], providerRun: [] };
  const providerRun: ProviderPart[] = [];
  const messages: ChatMessage[] = [];
  /** Signatures whose call comes next. Calls of different turns may have the same id. */
  const signatures: CallSignature[] = [];
  const called = new Set<string>();
  /** The model's turn, which items are still added to. */
  const turnFor = (isNew: (turn: AssistantMessage) => boolean): AssistantMessage => {
    const last = messages.at(-1);
    if (last?.role === 'assistant' && !isNew(last)) return last;
    const turn: AssistantMessage = { role: 'assistant', content: null, toolCalls: [] };
    messages.push(turn);
    return turn;
  };
  for (const [index, item] of input.entries()) {
    const at = `input.${index}.content`;
    if (item.type === 'reasoning') {
      const token = tokenOf(item);
      // The signature of a call stands between the items of its turn.
      if (token && 'callId' in token) signatures.push(token);
      else addThought(turnFor(hasSpoken), item, token);
    } else if (item.type === 'function_call' || item.type === 'custom_tool_call') {
      called.add(item.call_id);
      turnFor(() => false).toolCalls.push(...withSignatures([toCall(item, tools)], signatures.splice(0)));
    } else if (item.type === 'function_call_output' || item.type === 'custom_tool_call_output') {
      const call = item.type.replace('_output', '');
      if (!called.has(item.call_id))
        throw fieldError(`input.${index}.call_id`, `no earlier ${call} has the call_id ${quoted(item.call_id)}`);
      const content = toContent(item.output, `input.${index}.output`);
      messages.push({ role: 'tool', toolCallId: item.call_id, content });
    } else if (item.type === 'provider') {
      providerRun.push({ path: `input.${index}`, kind: item.kind });
    } else if (item.type === 'item_reference') {
      throw unresolved(index);
    } else if (item.type === 'additional_tools') {
      // Its tools are offered with those of the request.
      continue;
    } else if (item.role === 'assistant') {
      const vendor = own.of(`input.${index}`, nonNullFields({ phase: item.phase }), { isWithoutEffect: true });
      // Clients write a text before or after the calls of its turn, which ends with their results.
      const turn = turnFor(({ content, toolCalls }) => content !== null && toolCalls.length === 0);
      const content = joined(turn.content, toContent(item.content, at));
      Object.assign(turn, { content, ...nonNullFields({ vendor }) });
    } else {
      messages.push({ role: item.role, content: toContent(item.content, at) });
    }
  }
  return { messages, providerRun };
}

function toCall(
  item: Extract<InputItem, { type: 'function_call' | 'custom_tool_call' }>,
  tools: readonly ChatTool[],
): ToolCall {
  const named = { id: item.call_id, name: offeredName(tools, item) };
  return item.type === 'custom_tool_call'
    ? { ...named, arguments: customArguments(item.input), isCustom: true }
    : { ...named, arguments: item.arguments };
}

const unresolved = (index: number): GatewayError =>
  new GatewayError('unsupported_parameter', {
    param: `input.${index}.type`,
    message:
      `input.${index}: an item_reference needs stored answers, and nothing is stored here. Send the item itself: with store: false clients ` +
      'do so (in the AI SDK: providerOptions.openai.store = false).',
  });

const hasSpoken = ({ content, toolCalls }: AssistantMessage): boolean => content !== null || toolCalls.length > 0;

type ReasoningItem = Extract<InputItem, { type: 'reasoning' }>;

const tokenOf = ({ id, summary, encrypted_content: token }: ReasoningItem): SignedThought | CallSignature | null =>
  token ? fromToken(token, 'openai', { text: textOf(summary), ...(isNonNull(id) && { id }) }) : null;

function addThought(turn: AssistantMessage, { summary, content }: ReasoningItem, signed: SignedThought | null): void {
  if (signed) {
    turn.thoughts = [...(turn.thoughts ?? []), signed];
    return;
  }
  const text = textOf(summary) || textOf(content ?? []);
  if (text !== '') turn.reasoning = turn.reasoning === undefined ? text : `${turn.reasoning}\n\n${text}`;
}

const textOf = (parts: readonly { text: string }[]): string => parts.map(({ text }) => text).join('\n\n');

function joined(before: ChatContent | null, after: ChatContent): ChatContent {
  if (before === null) return after;
  const parts = [...partsOfContent(before), ...partsOfContent(after)];
  // Some providers take no list in a turn of the model.
  return parts.every((part) => part.type === 'text') ? textOf(parts) : parts;
}

/** `at` is the path of the content. */
const toContent = (content: string | readonly InputPart[], at: string): ChatContent =>
  typeof content === 'string' ? content : content.map((part, index) => toPart(part, `${at}.${index}`));

function toPart(part: InputPart, at: string): ChatPart {
  if (part.type === 'input_file') return toFile(part, at);
  if (part.type === 'input_image')
    return { type: 'image', url: part.image_url, ...nonNullFields({ detail: part.detail }) };
  return { type: 'text', text: part.type === 'refusal' ? part.refusal : part.text };
}

function toFile(file: Extract<InputPart, { type: 'input_file' }>, at: string): ChatPart {
  const { file_data: data, file_url: url, filename: name, detail } = file;
  if (!isNonNull(data) && !isNonNull(url)) {
    if (isNonNull(file.file_id)) throw notStored(`${at}.file_id`, 'Send the file in file_data, or a PDF by file_url.');
    throw missingFile(`${at}.file_data`);
  }
  return toFilePart({ at, data, url, name, detail });
}
