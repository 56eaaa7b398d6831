import { z } from 'zod';
import { GeminiChatBody, V1GeminiChatBody } from '../../dialects/gemini-chat-request.ts';
import { GeminiImageBody } from '../../dialects/gemini-image.ts';
import { PredictBody } from '../../dialects/gemini-predict.ts';
import { EventText } from '../schemas/chat-completion.ts';
import { GeminiModel, GeminiModels } from '../schemas/vendor-models.ts';
import { GeminiResponse, GeminiResponses, GeminiTokens, Predictions } from '../schemas/gemini-response.ts';
import { bodySchema, tolerantBodySchema, type NamedSchemas } from '../json-schema.ts';
import { exampleWith, firstOf } from '../model-examples.ts';
import { json, type Answer, type Operation, type Parameter } from '../operation.ts';
import {
  changed,
  answersOrCreates,
  cost,
  costOfWhole,
  counting,
  idempotencyKey,
  ignored,
  modelInPath,
  notModified,
  replayed,
  streamed,
  validated,
  waitsForPictures,
} from './shared.ts';

const jsonFormats = ['json', 'json;enum-encoding=int'];

const parametersOf = (model: Parameter, formats: readonly string[]): Parameter[] => [
  model,
  ...['alt', '$alt'].map((name) => ({
    name,
    in: 'query' as const,
    description: 'The format of the answer.',
    schema: z.enum(formats),
  })),
  ...['prettyPrint', '$prettyPrint'].map((name) => ({
    name,
    in: 'query' as const,
    description: 'Has no effect.',
    schema: z.string(),
  })),
  idempotencyKey,
];

/** The body that the routes under a prefix take. Those of the specification refuse unknown fields. */
const chatBodies = {
  strict: {
    name: 'GeminiChatRequest',
    schema: (named: NamedSchemas) => bodySchema(GeminiChatBody, named),
    image: { name: 'GeminiImageRequest', schema: (named: NamedSchemas) => bodySchema(GeminiImageBody, named) },
  },
  tolerant: {
    name: 'V1GeminiChatRequest',
    schema: (named: NamedSchemas) => tolerantBodySchema(V1GeminiChatBody, named),
    image: {
      name: 'V1GeminiImageRequest',
      schema: (named: NamedSchemas) => tolerantBodySchema(GeminiImageBody, named),
    },
  },
};

const operation = (
  { image, ...chat }: (typeof chatBodies)['strict'],
  summary: string,
  description: string,
  formats: readonly string[],
  answer: Omit<Answer, 'description'>,
): Operation => ({
  summary,
  description: [
    description,
    "The fields are Google's, and may also be written in snake_case. Chat models take a conversation, image models one prompt with pictures.",
  ].join('\n\n'),
  tag: 'Gemini',
  parameters: parametersOf(modelInPath('The id of a chat model or an image model.'), formats),
  body: (catalog, named) => {
    named.set(chat.name, { ...chat.schema(named), title: 'For a chat model' });
    named.set(image.name, { ...image.schema(named), title: 'For an image model' });
    return {
      'application/json': {
        schema: {
          anyOf: [{ $ref: `#/components/schemas/${chat.name}` }, { $ref: `#/components/schemas/${image.name}` }],
        },
        ...exampleWith(firstOf(catalog, 'chat'), 'A question', () => ({
          contents: [{ role: 'user', parts: [{ text: 'Name three rivers that flow north.' }] }],
        })),
      },
    };
  },
  answers: { 200: { description: 'The answer.', ...answer } },
  errors: answersOrCreates,
});

const bodyUnder = (prefix: string) => (prefix.startsWith('/api/') ? chatBodies.strict : chatBodies.tolerant);

/** The actions under one prefix. */
const actions = (prefix: string): Record<string, Operation> => ({
  [`POST ${prefix}/models/{model}:generateContent`]: operation(
    bodyUnder(prefix),
    'Generate content',
    'An image model answers when the picture is ready, or with 504 and the id of the task.',
    jsonFormats,
    {
      content: json(GeminiResponse),
      headers: cost,
      sometimes: { ...replayed, ...changed },
    },
  ),
  [`POST ${prefix}/models/{model}:streamGenerateContent`]: operation(
    bodyUnder(prefix),
    'Generate content as a stream',
    'With `alt=sse` the answer is Server-Sent Events, else an array of the same events.',
    [...jsonFormats, 'sse'],
    {
      content: { 'application/json': GeminiResponses, 'text/event-stream': EventText },
      sometimes: { ...costOfWhole, ...replayed, ...streamed },
    },
  ),
  [`POST ${prefix}/models/{model}:predict`]: predictUnder(prefix),
});

const predictUnder = (prefix: string): Operation => ({
  summary: 'Generate pictures as Imagen does',
  description: 'For image models. Answers when the pictures are ready, or with 504 and the id of the task.',
  tag: 'Gemini',
  parameters: parametersOf(modelInPath('The id of an image model.', 'image'), jsonFormats),
  body: (catalog, named) => ({
    'application/json': {
      schema: prefix.startsWith('/api/') ? bodySchema(PredictBody, named) : tolerantBodySchema(PredictBody, named),
      ...exampleWith(firstOf(catalog, 'image'), 'A picture', () => ({
        instances: [{ prompt: 'A red fox in the snow' }],
      })),
    },
  }),
  ...waitsForPictures(Predictions, prefix.startsWith('/api/') ? {} : ignored),
});

/** The count of tokens under one prefix. The SDK sends the contents alone, REST clients may send a whole request. */
const countUnder = (prefix: string): Record<string, Operation> => ({
  [`POST ${prefix}/models/{model}:countTokens`]: {
    ...counting,
    summary: 'Count the tokens of contents',
    tag: 'Gemini',
    parameters: parametersOf(modelInPath('The id of a chat model.', 'chat'), jsonFormats).filter(
      (parameter) => parameter !== idempotencyKey,
    ),
    body: (catalog, named) => {
      named.set(chatBodies.tolerant.name, { ...chatBodies.tolerant.schema(named), title: 'For a chat model' });
      const request = { $ref: `#/components/schemas/${chatBodies.tolerant.name}` };
      return {
        'application/json': {
          schema: {
            anyOf: [
              request,
              {
                type: 'object',
                properties: { generateContentRequest: request },
                required: ['generateContentRequest'],
              },
            ],
          },
          ...exampleWith(firstOf(catalog, 'chat'), 'A question', () => ({
            contents: [{ role: 'user', parts: [{ text: 'Name three rivers that flow north.' }] }],
          })),
        },
      };
    },
    answers: { 200: { description: 'The count.', content: json(GeminiTokens) } },
  },
});

/** Google's list of models under one prefix. */
const models = (prefix: string): Record<string, Operation> => ({
  [`GET ${prefix}/models`]: {
    summary: 'List the models, for SDKs of Google',
    description: 'The models that generateContent takes.',
    tag: 'Gemini',
    parameters: [
      {
        name: 'pageSize',
        in: 'query',
        description: 'The most models; 50 if absent.',
        schema: z.int().min(1).max(1_000),
      },
      { name: 'pageToken', in: 'query', description: 'The `nextPageToken` of the page before.', schema: z.string() },
    ],
    answers: { 200: { description: 'The models.', content: json(GeminiModels), headers: validated }, 304: notModified },
  },
  [`GET ${prefix}/models/{model}`]: {
    summary: 'Read a model, for SDKs of Google',
    tag: 'Gemini',
    parameters: [modelInPath('The id of a model.')],
    answers: { 200: { description: 'The model.', content: json(GeminiModel), headers: validated }, 304: notModified },
    errors: ['model_not_found'],
  },
});

export const geminiOperations: Record<string, Operation> = {
  ...models('/api/v1beta'),
  ...actions('/api/v1beta'),
  ...actions('/api/v1'),
  ...models('/v1beta'),
  ...actions('/v1beta'),
  ...countUnder('/v1beta'),
  ...actions('/v1'),
  ...countUnder('/v1'),
  'POST /v1beta1/publishers/google/models/{model}:predict': predictUnder('/v1beta1'),
};
