import type { IncomingHttpHeaders } from 'node:http';

/** How agents name the session that a request belongs to, the most specific first. */
export const sessionHeaders: readonly string[] = [
  'x-claude-code-session-id',
  'x-opencode-session',
  'x-session-affinity',
  'x-litellm-session-id',
  'helicone-session-id',
  'x-session-id',
  'session-id',
  'session_id',
  'x-conversation-id',
  'conversation-id',
  'conversation_id',
  'x-grok-conv-id',
];

/** The session that the client names in one of `sessionHeaders`; undefined if it names none. */
export function sessionIdOf(headers: IncomingHttpHeaders): string | undefined {
  for (const name of sessionHeaders) {
    const value = headers[name];
    if (typeof value === 'string' && value.trim() !== '') return value;
  }
  return undefined;
}
