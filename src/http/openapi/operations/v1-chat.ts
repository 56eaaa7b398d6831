import { z } from 'zod';
import type { JsonObject } from '../../../domain/json.ts';
import { CountBody, MessagesBody } from '../../dialects/anthropic-chat-fields.ts';
import { ResponsesBody } from '../../dialects/responses-fields.ts';
import { AnthropicMessage, TokenCount } from '../schemas/anthropic-message.ts';
import { EventText } from '../schemas/chat-completion.ts';
import { OpenaiResponse, ResponseTokens } from '../schemas/openai-response.ts';
import { tolerantBodySchema } from '../json-schema.ts';
import { exampleWith, firstOf } from '../model-examples.ts';
import { json, type Operation, type Parameter } from '../operation.ts';
import { answered, costOfWhole, counting, idempotencyKey, purchase, replayed, streamed } from './shared.ts';

const body = (request: z.ZodType, example: JsonObject): Pick<Operation, 'body'> => ({
  body: (catalog, named) => ({
    'application/json': {
      schema: tolerantBodySchema(request, named),
      ...exampleWith(firstOf(catalog, 'chat'), 'A question', (model) => ({ model, ...example })),
    },
  }),
});

const question = 'Name three rivers that flow north.';
const messages = [{ role: 'user', content: question }];

const chat = (answer: z.ZodType): Pick<Operation, 'tag' | 'answers' | 'errors'> => ({
  tag: 'Chat',
  answers: {
    200: {
      description: 'The answer.',
      content: { 'application/json': answer, 'text/event-stream': EventText },
      sometimes: { ...costOfWhole, ...replayed, ...streamed },
    },
  },
  errors: [...purchase, ...answered],
});

const version: Parameter = {
  name: 'anthropic-version',
  in: 'header',
  description: 'A date. Every version is answered in one shape.',
  // An empty header is an absent one.
  schema: z.string().regex(/^(20\d\d-\d\d-\d\d)?$/),
};

/** What the SDKs send with their `beta` methods. */
const beta: Parameter = { name: 'beta', in: 'query', description: 'Has no effect.', schema: z.string() };

const ResponsesRequest = ResponsesBody.meta({ id: 'ResponsesRequest' });

export const v1ChatOperations: Record<string, Operation> = {
  'POST /v1/responses': {
    summary: 'Create a response, for SDKs of OpenAI',
    description:
      'The Responses API. Nothing is stored: `store: true`, `previous_response_id` and `background` are refused. Send the items of earlier answers back in `input`.',
    parameters: [idempotencyKey],
    ...body(ResponsesRequest, { input: question }),
    ...chat(OpenaiResponse),
  },
  'POST /v1/responses/input_tokens': {
    ...counting,
    summary: 'Count the tokens of a response',
    ...body(ResponsesRequest, { input: question }),
    answers: { 200: { description: 'The count.', content: json(ResponseTokens) } },
  },
  'POST /v1/messages': {
    summary: 'Create a message, for SDKs of Anthropic',
    description: 'The Messages API, for every chat model.',
    parameters: [version, beta, idempotencyKey],
    ...body(MessagesBody.meta({ id: 'MessagesRequest' }), { max_tokens: 1_024, messages }),
    ...chat(AnthropicMessage),
  },
  'POST /v1/messages/count_tokens': {
    ...counting,
    summary: 'Count the tokens of a message',
    parameters: [version, beta],
    ...body(CountBody.meta({ id: 'CountRequest' }), { messages }),
    answers: { 200: { description: 'The count.', content: json(TokenCount) } },
  },
};
