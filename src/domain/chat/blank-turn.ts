import { isBlank, partsOfContent, type ChatMessage } from './chat.ts';

/**
 * The first message of the first turn of the user that has text and nothing but white space, by its index; undefined if there is none. Messages
 * between two answers are one turn. An answer that is only white space is none.
 */
export function blankTurn(messages: readonly ChatMessage[]): number | undefined {
  let blank: number | undefined;
  let hasTurnContent = false;
  for (const [index, message] of messages.entries()) {
    if (message.role === 'system' || message.role === 'developer') continue;
    const parts = partsOfContent(message.content);
    const hasContent = message.role === 'tool' || parts.some((part) => !isBlank(part));
    if (message.role !== 'assistant') {
      hasTurnContent ||= hasContent;
      if (parts.length > 0 && !hasContent) blank ??= index;
    } else if (hasContent || message.toolCalls.length > 0 || (message.thoughts?.length ?? 0) > 0) {
      if (blank !== undefined && !hasTurnContent) return blank;
      blank = undefined;
      hasTurnContent = false;
    }
  }
  return hasTurnContent ? undefined : blank;
}
