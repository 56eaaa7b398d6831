import { z } from 'zod';
import { textOf, type ChatMessage } from '../domain/chat.ts';
import type { JsonObject } from '../domain/json.ts';
import type { UpstreamCall } from './call-upstream.ts';
import type { CallOptions } from './channel.ts';

/** A chat reply is text: one near this size is a fault or an attack. */
const chatJsonBytesMax = 8_000_000;

/** A chat's POST, with the limit of its answer's size that every family shares (rules "Limits") and the asker's patience. */
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

/** For families with one place for instructions: what system and developer messages say, wherever they stood, and the rest. */
export function splitSystem(messages: readonly ChatMessage[]): { system: string; said: ChatMessage[] } {
  const isSystem = ({ role }: ChatMessage) => role === 'system' || role === 'developer';
  const system = messages
    .filter(isSystem)
    .map(({ content }) => textOf(content))
    .filter(Boolean)
    .join('\n\n');
  return { system, said: messages.filter((message) => !isSystem(message)) };
}

/** A count of tokens in a reply. What is no whole number is as if it were not there: the answer itself may still be good. */
export const count = z
  .int()
  .nullish()
  .catch(null)
  .transform((value) => value ?? null);

/** A model list in OpenAI's shape, which Anthropic shares. */
export const ModelList = z.object({ data: z.array(z.object({ id: z.string() })) });

/** A tool call's arguments as the object that some families want; a model's broken JSON becomes an empty one. */
export function argumentsObject(text: string): JsonObject {
  try {
    const value = Arguments.safeParse(JSON.parse(text));
    return value.success ? value.data : {};
  } catch {
    return {};
  }
}
const Arguments = z.record(z.string(), z.json());
