import { z } from 'zod';
import { GeminiChatBody } from '../../dialects/gemini-chat-request.ts';
import { GeminiImageBody } from '../../dialects/gemini-image.ts';
import { EventText } from '../answers/chat-completion.ts';
import { GeminiResponse, GeminiResponses } from '../answers/gemini-response.ts';
import { bodySchema } from '../json-schema.ts';
import type { Answer, Operation } from '../operation.ts';
import { answered, cost, created, idempotencyKey, purchase, replayed } from './shared.ts';

const operation = (summary: string, description: string, content: Answer['content']): Operation => ({
  summary,
  description: [
    description,
    "The fields are Google's, and may also be written in snake_case. Chat models take a conversation, image models one prompt with pictures.",
  ].join('\n\n'),
  tag: 'Gemini',
  parameters: [
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
  ],
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

export const geminiOperations: Record<string, Operation> = {
  'POST /api/v1beta/models/{model}:generateContent': operation(
    'Generate content',
    'An image model answers when the picture is ready, or with 504 and the id of the task.',
    { 'application/json': GeminiResponse },
  ),
  'POST /api/v1beta/models/{model}:streamGenerateContent': operation(
    'Generate content as a stream',
    'With `alt=sse` the answer is Server-Sent Events, else an array of one response.',
    { 'application/json': GeminiResponses, 'text/event-stream': EventText },
  ),
};
