import { z } from 'zod';
import type { Operation } from '../operation.ts';
import { json } from '../operation.ts';
import { Quote, Task } from '../../../schemas/task.ts';
import { UploadedFile } from '../schemas/file.ts';
import { createBody } from '../media-bodies.ts';
import { modelExamples } from '../model-examples.ts';
import { created, idempotencyKey, notHeld, purchase, replayed, wait } from './shared.ts';

const polled = { Location: 'The path to poll.' };

const create = (type: 'image' | 'video', answer: string): Operation => ({
  summary: type === 'image' ? 'Create a picture' : 'Create a video',
  description: [
    'Answers as soon as the task is accepted. Poll the task at `Location`, or give a `callback_url`.',
    'The price follows from the parameters, is shown as `credits.quoted`, and never rises. The credits of a task that does not succeed are refunded.',
    'Choose a `model`: the fields depend on it.',
  ].join('\n\n'),
  tag: type === 'image' ? 'Images' : 'Videos',
  parameters: [idempotencyKey, wait],
  body: (catalog, named, { imageDeadlineSeconds, videoDeadlineSeconds }) => ({
    'application/json': {
      schema: createBody(catalog, type, named, type === 'image' ? imageDeadlineSeconds : videoDeadlineSeconds),
      examples: modelExamples(catalog, type),
    },
  }),
  answers: {
    200: {
      description: 'The ended task, with `wait`; the price, for `dry_run`.',
      content: json(z.union([Task, Quote])),
      sometimes: { ...polled, ...replayed },
    },
    202: {
      description: answer,
      content: json(Task),
      headers: polled,
      sometimes: { ...replayed, ...notHeld },
    },
  },
  errors: [...purchase, ...created],
});

export const mediaOperations: Record<string, Operation> = {
  'POST /api/v1/images/generate': create('image', 'The task of the picture.'),
  'POST /api/v1/video/generate': create('video', 'The task of the video.'),
  'POST /api/v1/images/upload': {
    summary: 'Upload a picture',
    description:
      'One JPEG, PNG or WebP picture of up to 10 MB and 40 million pixels. It costs nothing and is kept for 24 hours. Use its `file_…` id as an input of a task.',
    tag: 'Images',
    body: () => {
      const picture = { type: 'string', format: 'binary' };
      const form = { type: 'object', properties: { file: picture }, required: ['file'] };
      return {
        'multipart/form-data': { schema: form },
        'image/png': { schema: picture },
        'image/jpeg': { schema: picture },
        'image/webp': { schema: picture },
      };
    },
    answers: { 201: { description: 'The stored picture.', content: json(UploadedFile) } },
    errors: ['invalid_image', 'storage_quota_exceeded'],
  },
};
