import type { IncomingHttpHeaders } from 'node:http';

/** The headers in which agents name the session of a request. If a request has several, the first of this list counts. */
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

/** The session that a request names; undefined if it names none. A header of blanks names none. */
export function sessionIdOf(headers: IncomingHttpHeaders): string | undefined {
  for (const name of sessionHeaders) {
    const value = headers[name];
    if (typeof value === 'string' && value.trim() !== '') return value;
  }
  return undefined;
}
