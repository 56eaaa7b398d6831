import type { z } from 'zod';
import type { JsonObject } from '../../domain/json.ts';
import type { BodySurroundings } from '../description.ts';
import { GeminiChatBody, V1GeminiChatBody } from '../dialects/gemini/gemini-chat-request.ts';
import { GeminiImageBody } from '../dialects/gemini/gemini-image.ts';
import { bodySchema, tolerantBodySchema } from './json-schema.ts';

/** A body that the type of the model decides about, under the names of its two schemas. */
const byModel =
  (prefix: string, chat: z.ZodType, schemaOf: typeof bodySchema) =>
  ({ named }: BodySurroundings): JsonObject => {
    named.set(`${prefix}ChatRequest`, { ...schemaOf(chat, named), title: 'For a chat model' });
    named.set(`${prefix}ImageRequest`, { ...schemaOf(GeminiImageBody, named), title: 'For an image model' });
    return { anyOf: [reference(`${prefix}ChatRequest`), reference(`${prefix}ImageRequest`)] };
  };

const reference = (name: string): JsonObject => ({ $ref: `#/components/schemas/${name}` });

/** The body of generateContent on the routes of the specification, which refuse unknown fields. */
export const geminiRequest = byModel('Gemini', GeminiChatBody, bodySchema);

/** That of the others, which leave them out. */
export const v1GeminiRequest = byModel('V1Gemini', V1GeminiChatBody, tolerantBodySchema);

/** The body of countTokens. The SDK sends the contents alone, REST clients may send a whole request. */
export function geminiCountRequest(surroundings: BodySurroundings): JsonObject {
  v1GeminiRequest(surroundings);
  const request = reference('V1GeminiChatRequest');
  const properties = { generateContentRequest: request };
  return { anyOf: [request, { type: 'object', properties, required: ['generateContentRequest'] }] };
}
