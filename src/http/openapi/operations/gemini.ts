import { z } from 'zod';
import { GeminiChatBody } from '../../dialects/gemini-chat-request.ts';
import { GeminiImageBody } from '../../dialects/gemini-image.ts';
import { PredictBody } from '../../dialects/gemini-predict.ts';
import { EventText } from '../answers/chat-completion.ts';
import { GeminiModel, GeminiModels } from '../answers/vendor-models.ts';
import { GeminiResponse, GeminiResponses, Predictions } from '../answers/gemini-response.ts';
import { bodySchema } from '../json-schema.ts';
import { json, type Answer, type Operation, type Parameter } from '../operation.ts';
import { answered, cost, created, idempotencyKey, notModified, purchase, replayed, validated } from './shared.ts';

const modelParameters: readonly Parameter[] = [
  { name: 'model', in: 'path', description: 'The id of a chat model or an image model.', schema: z.string() },
  ...['alt', '$alt'].map((name) => ({
    name,
    in: 'query' as const,
    description: 'The format of the answer: `json`, and `sse` for streamGenerateContent.',
    schema: z.enum(['json', 'json;enum-encoding=int', 'sse']),
  })),
  ...['prettyPrint', '$prettyPrint'].map((name) => ({
    name,
    in: 'query' as const,
    description: 'Has no effect.',
    schema: z.string(),
  })),
  idempotencyKey,
];

const operation = (summary: string, description: string, content: Answer['content']): Operation => ({
  summary,
  description: [
    description,
    "The fields are Google's, and may also be written in snake_case. Chat models take a conversation, image models one prompt with pictures.",
  ].join('\n\n'),
  tag: 'Gemini',
  parameters: modelParameters,
  body: (_catalog, named) => {
    named.set('GeminiChatRequest', { ...bodySchema(GeminiChatBody, named), title: 'For a chat model' });
    named.set('GeminiImageRequest', { ...bodySchema(GeminiImageBody, named), title: 'For an image model' });
    return {
      'application/json': {
        schema: {
          anyOf: [
            { $ref: '#/components/schemas/GeminiChatRequest' },
            { $ref: '#/components/schemas/GeminiImageRequest' },
          ],
        },
      },
    };
  },
  answers: { 200: { description: 'The answer.', content, headers: { ...cost, ...replayed } } },
  errors: [...purchase, ...answered, ...created, 'task_canceled'],
});

/** The actions under one prefix. */
const actions = (prefix: string): Record<string, Operation> => ({
  [`POST ${prefix}/models/{model}:generateContent`]: operation(
    'Generate content',
    'An image model answers when the picture is ready, or with 504 and the id of the task.',
    { 'application/json': GeminiResponse },
  ),
  [`POST ${prefix}/models/{model}:streamGenerateContent`]: operation(
    'Generate content as a stream',
    'With `alt=sse` the answer is Server-Sent Events, else an array of one response.',
    { 'application/json': GeminiResponses, 'text/event-stream': EventText },
  ),
  [`POST ${prefix}/models/{model}:predict`]: predict,
});

const predict: Operation = {
  summary: 'Generate pictures as Imagen does',
  description: 'For image models. Answers when the pictures are ready, or with 504 and the id of the task.',
  tag: 'Gemini',
  parameters: modelParameters,
  body: (_catalog, named) => ({ 'application/json': { schema: bodySchema(PredictBody, named) } }),
  answers: { 200: { description: 'The pictures.', content: json(Predictions), headers: { ...cost, ...replayed } } },
  errors: [...purchase, ...answered, ...created, 'task_canceled'],
};

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
    parameters: [{ name: 'model', in: 'path', description: 'The id of a model.', schema: z.string() }],
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
  ...actions('/v1'),
  'POST /v1beta1/publishers/google/models/{model}:predict': predict,
};
