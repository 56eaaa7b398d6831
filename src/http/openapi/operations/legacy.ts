import { z } from 'zod';
import { LegacyCreated, LegacyResult, LegacyVideoStatus, LegacyWorkflowStatus } from '../schemas/legacy.ts';
import { bodySchema } from '../json-schema.ts';
import { exampleWith, firstOf } from '../model-examples.ts';
import { json, type Operation, type Parameter } from '../operation.ts';
import { created, idempotencyKey, notModified, Prompt, purchase, replayed, validated } from './shared.ts';

export const legacyOperations: Record<string, Operation> = {
  'POST /api/v1/api/generate': {
    summary: 'Create a picture or a video',
    description: 'Takes the aliases of the former platform as `model`, and its names of fields beside ours.',
    tag: 'Legacy',
    parameters: [idempotencyKey],
    body: (catalog, named) => ({
      'application/json': {
        schema: bodySchema(Create, named),
        ...exampleWith(firstOf(catalog, 'image'), 'A picture', (model) => ({
          model,
          type: 'image',
          prompt: 'A red fox in the snow',
        })),
      },
    }),
    answers: { 200: { description: 'The ids of the task.', content: json(LegacyCreated), sometimes: replayed } },
    errors: [...purchase, ...created],
  },
  'GET /api/v1/api/result': read('Read a result', 'id', LegacyResult),
  'GET /api/v1/video/status': read('Read the status of a video', 'task_id', LegacyVideoStatus),
  'GET /api/v1/internal/workflow-status': read('Read the status of a picture', 'uuid', LegacyWorkflowStatus),
};

/** The fields that the former platform names. Those of the model, under our names, are checked by its catalog entry. */
const Create = z
  .looseObject({
    model: z.string().min(1).max(200).describe('The id of a model, or an alias.'),
    type: z.enum(['image', 'video']).nullish().describe('Must be the type of the model.'),
    prompt: Prompt,
    aspectRatio: z.string().nullish().describe('The same setting as `aspect_ratio`.'),
    imageSize: z.string().nullish().describe('The same setting as `img_size`.'),
    images: z
      .union([z.string().min(1), z.array(z.string().min(1))])
      .nullish()
      .describe('One picture or several.'),
    callback_url: z
      .string()
      .regex(/^https:\/\//)
      .nullish()
      .describe('A public https URL. The task is sent to it when it has ended.'),
  })
  .meta({ id: 'LegacyCreate' });

function read(summary: string, param: string, answer: z.ZodType): Operation {
  const id: Parameter = {
    name: param,
    in: 'query',
    description: 'The id of the task.',
    schema: z.string().min(1),
    required: true,
  };
  return {
    summary,
    description: 'Of a task of either type, created on any route.',
    tag: 'Legacy',
    parameters: [id],
    answers: { 200: { description: 'The task.', content: json(answer), headers: validated }, 304: notModified },
    errors: ['missing_parameter', 'task_not_found'],
  };
}
