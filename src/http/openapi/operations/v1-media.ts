import { z } from 'zod';
import { OpenaiEditBody, OpenaiImageBody } from '../../dialects/openai-image.ts';
import { OpenaiImages } from '../answers/openai-images.ts';
import { VendorModel, VendorModels } from '../answers/vendor-models.ts';
import { bodySchema } from '../json-schema.ts';
import { json, type Operation, type Parameter } from '../operation.ts';
import { answered, cost, created, idempotencyKey, notModified, purchase, replayed, validated } from './shared.ts';

const query = (name: string, description: string, schema: z.ZodType): Parameter => ({
  ...{ name, in: 'query', description, schema },
});
const count = z.int().min(1).max(1_000);

const pictures: Pick<Operation, 'tag' | 'answers' | 'errors'> = {
  tag: 'Images',
  answers: {
    200: { description: 'The pictures.', content: json(OpenaiImages), headers: { ...cost, ...replayed } },
  },
  errors: [...purchase, ...answered, ...created, 'task_canceled'],
};

export const v1MediaOperations: Record<string, Operation> = {
  'GET /v1/models': {
    summary: "List the models, in the shape of the client's vendor",
    description: "OpenAI's shape; Anthropic's with an `anthropic-version` header, Google's with `x-goog-api-key`.",
    tag: 'Models',
    parameters: [
      query('limit', 'Anthropic: the most models; 20 if absent.', count),
      query('after_id', 'Anthropic: the `last_id` of the page before.', z.string()),
      query('before_id', 'Anthropic: the `first_id` of the page after.', z.string()),
      query('pageSize', 'Google: the most models; 50 if absent.', count),
      query('pageToken', 'Google: the `nextPageToken` of the page before.', z.string()),
    ],
    answers: { 200: { description: 'The models.', content: json(VendorModels), headers: validated }, 304: notModified },
  },
  'GET /v1/models/{model}': {
    summary: "Read a model, in the shape of the client's vendor",
    tag: 'Models',
    parameters: [{ name: 'model', in: 'path', description: 'The id of a model.', schema: z.string() }],
    answers: { 200: { description: 'The model.', content: json(VendorModel), headers: validated }, 304: notModified },
    errors: ['model_not_found'],
  },
  'POST /v1/images/generations': {
    summary: 'Generate pictures, for SDKs of OpenAI',
    description: 'Answers with the pictures, or after 120 seconds with 504 and the id of the task.',
    ...pictures,
    parameters: [idempotencyKey],
    body: (_catalog, named) => ({ 'application/json': { schema: bodySchema(OpenaiImageBody, named) } }),
  },
  'POST /v1/images/edits': {
    summary: 'Edit pictures, for SDKs of OpenAI',
    description: 'The same from pictures, as JSON or as a form of up to 10 MB with files.',
    ...pictures,
    parameters: [idempotencyKey],
    body: (_catalog, named) => {
      const schema = bodySchema(OpenaiEditBody, named);
      return { 'application/json': { schema }, 'multipart/form-data': { schema } };
    },
  },
};
