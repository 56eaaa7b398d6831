import { z } from 'zod';
import { textOf, type ChatMessage } from '../domain/chat.ts';
import type { JsonObject } from '../domain/json.ts';
import type { UpstreamCall } from './call-upstream.ts';
import type { CallOptions } from './channel.ts';

/** A chat reply is text, so one near this size is a fault or an attack. */
const chatJsonBytesMax = 8_000_000;

/** The POST of a chat, with the caller's timeouts and the size limit that all families share (rules "Limits"). */
export const chatCall = (
  call: { path: string; headers: Record<string, string>; body: JsonObject },
  { signal, headersMs, timeoutMs }: CallOptions,
): UpstreamCall => ({
  method: 'POST',
  ...call,
  signal,
  ...(headersMs !== undefined && { headersMs }),
  ...(timeoutMs !== undefined && { timeoutMs }),
  bodyBytesMax: chatJsonBytesMax,
});

/** For families with one field for instructions: the text of all system and developer messages, and the other messages. */
export function splitSystem(messages: readonly ChatMessage[]): { system: string; conversation: ChatMessage[] } {
  const isSystem = ({ role }: ChatMessage) => role === 'system' || role === 'developer';
  const system = messages
    .filter(isSystem)
    .map(({ content }) => textOf(content))
    .filter(Boolean)
    .join('\n\n');
  return { system, conversation: messages.filter((message) => !isSystem(message)) };
}

/** A token count in a reply. Anything but an integer counts as absent, because the answer may still be usable. */
export const count = z
  .int()
  .nullish()
  .catch(null)
  .transform((value) => value ?? null);

/** A model list in OpenAI's shape, which Anthropic shares. */
export const ModelList = z.object({ data: z.array(z.object({ id: z.string() })) });

/** A tool call's arguments as an object, for families that need one. Invalid JSON becomes an empty object. */
export function argumentsObject(text: string): JsonObject {
  try {
    const value = Arguments.safeParse(JSON.parse(text));
    return value.success ? value.data : {};
  } catch {
    return {};
  }
}
const Arguments = z.record(z.string(), z.json());
