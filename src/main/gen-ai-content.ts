import type { ChatContent, ChatMessage, ChatReply, ChatRequest, ToolCall } from '../domain/chat/chat.ts';
import { redact } from '../platform/observe/redact.ts';
import type { SpanFacts } from '../platform/observe/tracer.ts';

/** Characters of one text, and of one attribute. What is longer is cut and says so; the oldest messages are left out first. */
const textMax = 2_000;
const attributeMax = 16_000;

type Part = Record<string, unknown> & { type: string };
type Clean = (text: string) => string;

/** What the project allows: nothing, or the text as it is or redacted, each text cut. */
const cleanOf = ({ traceContent }: Pick<ChatRequest, 'traceContent'>): Clean | null => {
  if (traceContent === undefined) return null;
  const allowed = traceContent === 'full' ? (text: string) => text : redact;
  // Redacted first, so that no part of a key is left at the cut. The rest of a huge text is never read.
  return (text) => cut(allowed(text.slice(0, 2 * textMax)), text.length);
};

const cut = (text: string, length: number): string =>
  text.length > textMax || length > 2 * textMax ? `${text.slice(0, textMax)}… (${length} characters)` : text;

/**
 * What was asked, in the words of OpenTelemetry's conventions (`gen_ai.system_instructions`, `gen_ai.input.messages`), if the project of the
 * request has opted in. Pictures and files are named and never recorded.
 */
export function genAiInput(request: ChatRequest): SpanFacts {
  const clean = cleanOf(request);
  if (!clean) return {};
  const isInstruction = ({ role }: ChatMessage) => role === 'system' || role === 'developer';
  const instructions = request.messages.filter(isInstruction).flatMap(({ content }) => partsOf(content, clean));
  const messages = request.messages
    .filter((message) => !isInstruction(message))
    .map((message) => ({ role: message.role, parts: partsOfMessage(message, clean) }));
  return {
    'gen_ai.system_instructions': instructions.length === 0 ? undefined : bounded(instructions),
    'gen_ai.input.messages': bounded(messages),
  };
}

/** The same of the answer (`gen_ai.output.messages`). */
export function genAiOutput(
  request: Pick<ChatRequest, 'traceContent'>,
  { content, toolCalls, finishReason }: Pick<ChatReply, 'content' | 'toolCalls'> & { finishReason: string | null },
): SpanFacts {
  const clean = cleanOf(request);
  if (!clean) return {};
  const parts = [...partsOf(content, clean), ...toolCalls.map((call) => callPart(call, clean))];
  return { 'gen_ai.output.messages': bounded([{ role: 'assistant', parts, finish_reason: finishReason ?? 'error' }]) };
}

/** The newest that fit. */
function bounded(items: readonly object[]): string {
  const texts: string[] = [];
  let length = 2;
  for (const item of items.toReversed()) {
    const text = JSON.stringify(item);
    length += text.length + 1;
    if (length > attributeMax && texts.length > 0) break;
    texts.unshift(text);
  }
  return `[${texts.join(',')}]`;
}

function partsOfMessage(message: ChatMessage, clean: Clean): Part[] {
  if (message.role === 'tool') {
    const response = partsOf(message.content, clean).map(({ content = '' }) => content);
    return [{ type: 'tool_call_response', id: message.toolCallId, response: response.join('\n') }];
  }
  const calls = message.role === 'assistant' ? message.toolCalls : [];
  return [...partsOf(message.content, clean), ...calls.map((call) => callPart(call, clean))];
}

const callPart = ({ id, name, arguments: text }: ToolCall, clean: Clean): Part => ({
  type: 'tool_call',
  id,
  name,
  arguments: clean(text),
});

function partsOf(content: ChatContent | null, clean: Clean): Part[] {
  if (content === null || content === '') return [];
  if (typeof content === 'string') return [{ type: 'text', content: clean(content) }];
  return content.map((part) =>
    part.type === 'text'
      ? { type: 'text', content: clean(part.text) }
      : { type: 'uri', modality: part.type === 'image' ? 'image' : 'document', uri: '[not recorded]' },
  );
}
