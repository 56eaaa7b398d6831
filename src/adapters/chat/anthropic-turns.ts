import { isBlank, partsOfContent, type ChatMessage } from '../../domain/chat/chat.ts';
import type { JsonObject, JsonValue } from '../../domain/json.ts';
import { isSystem, toTurns } from './sent-messages.ts';

/** The first turn must be the user's. Chat programs whose greeting is the first message send none. */
const opening = 'Please begin.';

/**
 * The turns of a conversation as Anthropic takes them. It refuses a text of white space alone, a conversation that begins with the
 * assistant, and a prefilled answer that ends with white space ("text content blocks must contain non-whitespace text", "first message must use
 * the user role", "final assistant content cannot end with trailing whitespace"). Blank texts are left out, a user turn is put before the first
 * answer, and the end of the prefilled answer is trimmed. `unsupportedBy` refuses a user message that is only blank.
 */
export function toAnthropicTurns(
  messages: readonly ChatMessage[],
  toBlocks: (message: ChatMessage) => JsonValue[],
): JsonObject[] {
  const turns = toTurns(trimmedAtItsEnd(messages.map(withoutBlanks)), 'assistant', toBlocks).map(
    ({ role, parts, vendor }): JsonObject => ({ role, ...(parts.length > 0 && { content: parts }), ...vendor }),
  );
  if (turns[0]?.role === 'assistant') turns.unshift({ role: 'user', content: [{ type: 'text', text: opening }] });
  return turns;
}

/**
 * The instructions of a whole conversation, and its turns with the instructions that come between them. Anthropic's models since Claude Opus
 * 4.8 take those where they stand, right after a turn of the user
 * (https://platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages, read 2026-11-26), so that the cache of what comes
 * before stays valid. Instructions that no turn of the user comes before belong to the whole conversation.
 */
export function withSystemTurns(messages: readonly ChatMessage[]): { system: ChatMessage[]; turns: ChatMessage[] } {
  const turns: ChatMessage[] = [];
  let waiting: ChatMessage[] = [];
  const settle = (): void => {
    const last = turns.at(-1);
    if (last === undefined || last.role === 'assistant') return;
    turns.push(...waiting);
    waiting = [];
  };
  const first = messages.findIndex((message) => !isSystem(message));
  const system = first < 0 ? [...messages] : messages.slice(0, first);
  for (const message of messages.slice(system.length)) {
    if (isSystem(message)) waiting.push(message);
    else {
      if (message.role === 'assistant') settle();
      turns.push(message);
    }
  }
  settle();
  return { system: [...system, ...waiting], turns };
}

/** Results of tools keep their blanks: Anthropic takes them there, and they are what the tool printed. */
function withoutBlanks(message: ChatMessage): ChatMessage {
  if (message.role === 'tool') return message;
  const content = partsOfContent(message.content).filter((part) => !isBlank(part));
  return { ...message, content };
}

function trimmedAtItsEnd(messages: ChatMessage[]): ChatMessage[] {
  const last = messages.at(-1);
  if (last?.role !== 'assistant' || last.toolCalls.length > 0) return messages;
  const parts = partsOfContent(last.content);
  const end = parts.at(-1);
  if (end?.type !== 'text') return messages;
  return [
    ...messages.slice(0, -1),
    { ...last, content: [...parts.slice(0, -1), { ...end, text: end.text.trimEnd() }] },
  ];
}
