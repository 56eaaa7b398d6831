import type { ChatContent, ChatMessage, ChatRequest } from './chat.ts';

/** Of a text, so many characters at its beginning and at its end tell conversations apart, beside its length. */
const HEAD_CHARS = 2_048;
const TAIL_CHARS = 512;
/** Tools and parts whose names and texts are read. */
const ITEMS_MAX = 64;

/**
 * A text that is the same for every turn of one conversation of a project, so that the caches of a provider can serve them: the client's
 * `prompt_cache_key`, else `sessionId` (what a header names), else the opening of the conversation, which is its first instructions, its
 * tools and its first user message. Only bounded parts of the opening are read, 500 kB at most, whatever the length of the request.
 */
export function conversationOf(request: ChatRequest, { sessionId }: { sessionId?: string | undefined }): string {
  const cacheKey = request.extra['prompt_cache_key'];
  if (typeof cacheKey === 'string' && cacheKey !== '') return `key ${excerpt(cacheKey)}`;
  if (sessionId !== undefined) return `session ${excerpt(sessionId)}`;
  return JSON.stringify(['opening', ...openingOf(request)]);
}

/** The messages up to the first one of the user, of which later turns change nothing, and the names of the tools. */
function openingOf({ messages, tools }: ChatRequest): string[] {
  const firstUser = messages.findIndex(({ role }) => role === 'user');
  const instructions = messages.slice(0, ITEMS_MAX).find(({ role }) => isInstruction(role));
  const opening: (ChatMessage | undefined)[] = [instructions, messages[firstUser]];
  const names = tools.slice(0, ITEMS_MAX).map(({ name }) => excerpt(name));
  return [...names, ...opening.flatMap((message) => (message ? [message.role, ...excerptsOf(message.content)] : []))];
}

const isInstruction = (role: ChatMessage['role']): boolean => role === 'system' || role === 'developer';

function excerptsOf(content: ChatContent | null): string[] {
  if (content === null) return [];
  if (typeof content === 'string') return [excerpt(content)];
  return content.slice(0, ITEMS_MAX).map((part) => excerpt(part.type === 'text' ? part.text : part.url));
}

const excerpt = (text: string): string =>
  text.length <= HEAD_CHARS + TAIL_CHARS
    ? text
    : `${text.slice(0, HEAD_CHARS)}${text.length}${text.slice(-TAIL_CHARS)}`;
