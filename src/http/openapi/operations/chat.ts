import { z } from 'zod';
import type { JsonValue } from '../../../domain/json.ts';
import { passThroughDefault } from '../../../domain/chat/pass-through.ts';
import { harmlessChatFields, openaiChatFields, v1OpenaiChatFields } from '../../dialects/openai-chat-request.ts';
import { anyJson } from '../../request/validate.ts';
import { ChatCompletion, EventText } from '../schemas/chat-completion.ts';
import { bodySchema, tolerantBodySchema } from '../json-schema.ts';
import { modelExamples } from '../model-examples.ts';
import type { Catalog, Operation } from '../operation.ts';
import { answered, costOfWhole, idempotencyKey, purchase, replayed, streamed } from './shared.ts';

const operation = (summary: string, description: string, body: Operation['body']): Operation => ({
  summary,
  description: [
    description,
    "The request is OpenAI's. Credits for the worst case are held first; the actual usage is charged before the answer leaves. A chat that fails costs nothing.",
    'With `stream: true` the answer is `text/event-stream`. `x-tollgate-stream` says `live` or `buffered`, and the last chunk has `tollgate: {credits, attempts}`.',
  ].join('\n\n'),
  tag: 'Chat',
  parameters: [idempotencyKey],
  ...(body && { body }),
  answers: {
    200: {
      description: 'The answer.',
      content: { 'application/json': ChatCompletion, 'text/event-stream': EventText },
      sometimes: { ...costOfWhole, ...replayed, ...streamed },
    },
  },
  errors: [...purchase, ...answered],
});

const chatBody =
  (name: string, request: z.ZodType, schemaOf = bodySchema): Operation['body'] =>
  (catalog, named) => {
    named.set(name, described(schemaOf(request, named), catalog));
    return {
      'application/json': {
        schema: { $ref: `#/components/schemas/${name}` },
        examples: modelExamples(catalog, 'chat'),
      },
    };
  };

/** A field that is accepted with these values only, because they change nothing. */
const oneOf = (values: readonly JsonValue[]) => anyJson.meta({ enum: [...values, null] }).optional();

/**
 * The body with every field by name. Of the further fields that a model may pass on, those that models take where the catalog names
 * no others.
 */
const ChatRequest = z.strictObject({
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

const V1ChatRequest = ChatRequest.extend(v1OpenaiChatFields);

export const chatOperations: Record<string, Operation> = {
  'POST /api/v1/chat/completions': operation(
    'Complete a chat',
    '`max_tokens` is 16 to 8,192.',
    chatBody('ChatRequest', ChatRequest),
  ),
  'POST /v1/chat/completions': operation(
    'Complete a chat, for SDKs of OpenAI',
    'Any `max_tokens`: more than the model writes is lowered.',
    chatBody('V1ChatRequest', V1ChatRequest, tolerantBodySchema),
  ),
};
