import type { CacheControl, ChatContent, ChatPart } from '../../domain/chat/chat.ts';

/** The content with a mark for the prompt cache at its end, unless there is one. An empty content has no end for it. */
export const markedContent = (content: ChatContent, cacheControl: CacheControl): ChatContent =>
  content.length === 0
    ? content
    : markedParts(typeof content === 'string' ? [{ type: 'text', text: content }] : content, cacheControl);

/** The same for a list of parts. */
export const markedParts = (parts: readonly ChatPart[], cacheControl: CacheControl): ChatPart[] =>
  parts.map((part, index) => (index === parts.length - 1 ? { cacheControl, ...part } : part));
