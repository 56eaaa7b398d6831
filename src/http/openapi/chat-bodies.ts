import { z } from 'zod';
import type { JsonObject, JsonValue } from '../../domain/json.ts';
import { passThroughDefault } from '../../domain/chat/pass-through.ts';
import type { BodySurroundings, Catalog } from '../description.ts';
import { harmlessChatFields, openaiChatFields, v1OpenaiChatFields } from '../dialects/openai/openai-chat-request.ts';
import { anyJson } from '../request/validate.ts';
import { bodySchema, tolerantBodySchema } from './json-schema.ts';

const chatBody =
  (name: string, request: z.ZodType, schemaOf = bodySchema) =>
  ({ catalog, named }: BodySurroundings): JsonObject => {
    named.set(name, described(schemaOf(request, named), catalog));
    return { $ref: `#/components/schemas/${name}` };
  };

/** A field that is accepted with these values only, because they change nothing. */
const oneOf = (values: readonly JsonValue[]) => anyJson.meta({ enum: [...values, null] }).optional();

/**
 * The body with every field by name. Of the further fields that a model may pass on, those that models take where the catalog names
 * no others.
 */
const ChatRequestSchema = z.strictObject({
  ...openaiChatFields,
  ...Object.fromEntries(Object.entries(harmlessChatFields).map(([field, values]) => [field, oneOf(values)])),
  ...Object.fromEntries(passThroughDefault.map((field) => [field, anyJson.optional()])),
  parallel_tool_calls: openaiChatFields.parallel_tool_calls,
});

function described(schema: ReturnType<typeof bodySchema>, catalog: Catalog): ReturnType<typeof bodySchema> {
  const properties = { ...(schema.properties as Record<string, object>) };
  for (const [field, description] of Object.entries(descriptions))
    properties[field] = { ...properties[field], description };
  for (const field of passThroughDefault) {
    properties[field] = { description: 'Passed on to providers that take it.', ...properties[field] };
  }
  const ids = catalog.filter(({ model }) => model.type === 'chat').map(({ model }) => model.id);
  properties.model = { ...properties.model, ...(ids.length > 0 && { examples: ids }) };
  return { ...schema, properties: properties as never };
}

const descriptions = {
  model: 'The id of a chat model.',
  messages: 'Texts and images. An `image_url` is a `data:` URI or a public https URL.',
  max_tokens: 'The most tokens of the answer, thoughts included. 1,024 if absent.',
  max_completion_tokens: 'The same setting as `max_tokens`.',
  temperature: '0.7 if absent; none beside a `top_p`.',
  stream: 'Whether to send the answer as Server-Sent Events.',
  user: "The client's own identifier of its end user.",
};

const V1ChatRequest = ChatRequestSchema.extend(v1OpenaiChatFields);

/** The body of `POST /api/v1/chat/completions`. */
export const chatRequest = chatBody('ChatRequest', ChatRequestSchema);

/** That of `POST /v1/chat/completions`. */
export const v1ChatRequest = chatBody('V1ChatRequest', V1ChatRequest, tolerantBodySchema);
