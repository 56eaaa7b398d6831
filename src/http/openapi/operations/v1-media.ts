import { z } from 'zod';
import { Task } from '../../../schemas/task.ts';
import { OpenaiEditBody, OpenaiImageBody } from '../../dialects/openai-image.ts';
import { OpenaiVideoBody } from '../../dialects/openai-video-request.ts';
import { Bytes } from '../schemas/file.ts';
import { OpenaiImages } from '../schemas/openai-images.ts';
import { DeletedVideo, OpenaiVideo, OpenaiVideos } from '../schemas/openai-videos.ts';
import { VendorModel, VendorModels } from '../schemas/vendor-models.ts';
import { bodySchema, tolerantBodySchema } from '../json-schema.ts';
import { EditForm, VideoForm } from './media-forms.ts';
import { exampleWith, examplePicture, firstOf } from '../model-examples.ts';
import { json, type Operation, type Parameter } from '../operation.ts';
import {
  created,
  idempotencyKey,
  ignored,
  modelInPath,
  notModified,
  Prompt,
  purchase,
  replayed,
  validated,
  waitsForPictures,
} from './shared.ts';

const query = (name: string, description: string, schema: z.ZodType): Parameter => ({
  name,
  in: 'query',
  description,
  schema,
});
const count = z.int().min(1).max(1_000);

const waiting = waitsForPictures(OpenaiImages, ignored);
const pictures = {
  ...waiting,
  tag: 'Images',
  answers: {
    ...waiting.answers,
    202: {
      description: 'The task, for `async: true`.',
      content: json(Task),
      headers: { Location: 'The path to poll.' },
      sometimes: { ...replayed, ...ignored },
    },
  },
} as const;

const ImageRequest = OpenaiImageBody.extend({ prompt: Prompt }).meta({ id: 'OpenaiImageRequest' });
const EditRequest = OpenaiEditBody.extend({ prompt: Prompt }).meta({ id: 'OpenaiEditRequest' });
const VideoRequest = OpenaiVideoBody.extend({ prompt: Prompt }).meta({ id: 'OpenaiVideoRequest' });

const videoId: Parameter = {
  name: 'video_id',
  in: 'path',
  description: 'The id of the video, which is that of its task.',
  schema: z.string(),
};

export const v1MediaOperations: Record<string, Operation> = {
  'GET /v1/models': {
    summary: "List the models, in the shape of the client's vendor",
    description: "OpenAI's shape; Anthropic's with an `anthropic-version` header, Google's with `x-goog-api-key`.",
    tag: 'Models',
    parameters: [
      query('limit', 'The most models. If absent: all for OpenAI, 20 for Anthropic.', count),
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
    parameters: [modelInPath('The id of a model.')],
    answers: { 200: { description: 'The model.', content: json(VendorModel), headers: validated }, 304: notModified },
    errors: ['model_not_found'],
  },
  'POST /v1/images/generations': {
    summary: 'Generate pictures, for SDKs of OpenAI',
    description:
      'Answers with the pictures, or after 85 seconds with 504 and the id of the task. With `async: true` the answer is the task.',
    ...pictures,
    parameters: [idempotencyKey],
    body: (catalog, named) => ({
      'application/json': {
        schema: tolerantBodySchema(ImageRequest, named),
        ...exampleWith(firstOf(catalog, 'image'), 'A picture', (model) => ({
          model,
          prompt: 'A red fox in the snow',
        })),
      },
    }),
  },
  'POST /v1/images/edits': {
    summary: 'Edit pictures, for SDKs of OpenAI',
    description: 'The same from pictures, as JSON or as a form of up to 10 MB with files.',
    ...pictures,
    parameters: [idempotencyKey],
    body: (catalog, named) => {
      const schema = tolerantBodySchema(EditRequest, named);
      const example = exampleWith(firstOf(catalog, 'image', ['image']), 'An edit', (model) => ({
        model,
        prompt: 'The same at night',
        image: examplePicture,
      }));
      return {
        'application/json': { schema, ...example },
        'multipart/form-data': { schema: bodySchema(EditForm, named) },
      };
    },
  },
  'POST /v1/videos': {
    summary: 'Create a video, for SDKs of OpenAI',
    description: 'Answers as soon as the task is accepted. JSON, or a form with the file `input_reference`.',
    tag: 'Videos',
    parameters: [idempotencyKey],
    body: (catalog, named) => {
      const schema = tolerantBodySchema(VideoRequest, named);
      const example = exampleWith(firstOf(catalog, 'video'), 'A clip', (model) => ({
        model,
        prompt: 'A paper boat on a river',
      }));
      return {
        'application/json': { schema, ...example },
        'multipart/form-data': { schema: bodySchema(VideoForm, named) },
      };
    },
    answers: { 200: { description: 'The video.', content: json(OpenaiVideo), sometimes: { ...replayed, ...ignored } } },
    errors: [...purchase, ...created],
  },
  'GET /v1/videos': {
    summary: 'List videos, for SDKs of OpenAI',
    tag: 'Videos',
    parameters: [
      query(
        'limit',
        'The most videos; 20 if absent. A page of large videos has fewer: `has_more` tells whether there are others.',
        z.int().min(1).max(100),
      ),
      query('after', 'The `last_id` of the page before.', z.string()),
      query('order', '`desc`, the newest first, if absent.', z.enum(['asc', 'desc'])),
    ],
    answers: { 200: { description: 'The videos.', content: json(OpenaiVideos) } },
  },
  'GET /v1/videos/{video_id}': {
    summary: 'Read a video, for SDKs of OpenAI',
    tag: 'Videos',
    parameters: [videoId],
    answers: { 200: { description: 'The video.', content: json(OpenaiVideo), headers: validated }, 304: notModified },
    errors: ['task_not_found'],
  },
  'DELETE /v1/videos/{video_id}': {
    summary: 'Delete a video, for SDKs of OpenAI',
    description: 'Of a video that is ready or failed: erases its prompt, its inputs and its clip.',
    tag: 'Videos',
    parameters: [videoId],
    answers: { 200: { description: 'The video is deleted.', content: json(DeletedVideo) } },
    errors: ['task_not_found', 'task_not_ended'],
  },
  'GET /v1/videos/{video_id}/content': {
    summary: 'Download a video, for SDKs of OpenAI',
    description: 'Supports `Range`.',
    tag: 'Videos',
    parameters: [videoId, query('variant', 'Only `video`.', z.literal('video'))],
    answers: {
      200: { description: 'The bytes.', content: { '*/*': Bytes } },
      206: {
        description: 'One range of the bytes.',
        content: { '*/*': Bytes },
        headers: { 'Content-Range': 'Which bytes.' },
      },
      304: notModified,
      416: {
        description: 'The range lies outside of the file.',
        headers: { 'Content-Range': 'The size of the file.' },
      },
    },
    errors: ['task_not_found', 'file_not_found', 'task_content_erased'],
  },
};
