import { Task } from '../../schemas/task.ts';
import type { AppContext } from '../context.ts';
import { json } from '../description.ts';
import {
  inImageWords,
  OpenaiEditBody,
  OpenaiImageBody,
  openaiPictures,
  readOpenaiEdit,
  readOpenaiImage,
  toCoreOpenaiImage,
  type OpenaiImageRequest,
} from '../dialects/openai/openai-image.ts';
import type { Reading } from '../dialects/reading.ts';
import { ignoredFields, readingOf, tellIgnored } from '../request/ignored-fields.ts';
import { sendJsonText } from '../request/json-text.ts';
import { EditForm, Prompt } from '../openapi/media-forms.ts';
import { exampleWith, examplePicture, firstOf } from '../openapi/model-examples.ts';
import { OpenaiImages } from '../openapi/schemas/openai-images.ts';
import { endpoint, type Route } from '../route.ts';
import { idempotencyKey, ignored, replayed, waitsForPictures } from './common-descriptions.ts';
import { mediaScope, postPartsRow } from './common-rows.ts';
import type { AnswerPictures } from './picture-answers.ts';

const waiting = waitsForPictures(OpenaiImages, ignored);
const pictures = {
  isCreate: true,
  tag: 'Images',
  headers: idempotencyKey,
  ...waiting,
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

/** Pictures for OpenAI's SDKs: 200 with the pictures, or 504 with the id of a task that takes longer. */
export const openaiImageRoutes = (answerPictures: AnswerPictures): Route[] => [
  endpoint({
    ...postPartsRow('/v1/images/generations', mediaScope),
    ...pictures,
    summary: 'Generate pictures, for SDKs of OpenAI',
    description:
      'Answers with the pictures, or after 85 seconds with 504 and the id of the task. With `async: true` the answer is the task.',
    accepts: { 'application/json': ImageRequest },
    examples: (catalog) =>
      exampleWith(firstOf(catalog, 'image'), 'A picture', (model) => ({ model, prompt: 'A red fox in the snow' })),
    handler: answerImages(answerPictures, '/v1/images/generations', readOpenaiImage),
  }),
  endpoint({
    ...postPartsRow('/v1/images/edits', mediaScope),
    ...pictures,
    body: 'json_or_form',
    summary: 'Edit pictures, for SDKs of OpenAI',
    description: 'The same from pictures, as JSON or as a form of up to 10 MB with files.',
    accepts: { 'application/json': EditRequest, 'multipart/form-data': EditForm },
    examples: (catalog) =>
      exampleWith(firstOf(catalog, 'image', ['image']), 'An edit', (model) => ({
        model,
        prompt: 'The same at night',
        image: examplePicture,
      })),
    handler: answerImages(answerPictures, '/v1/images/edits', readOpenaiEdit),
  }),
];

const answerImages =
  (answerPictures: AnswerPictures, route: string, read: (body: unknown, reading: Reading) => OpenaiImageRequest) =>
  async (ctx: AppContext): Promise<void> => {
    const body = ctx.request.body ?? {};
    const request = read(body, readingOf(ctx));
    const text = await answerPictures(ctx, {
      dialect: 'openai',
      route,
      body,
      coreBody: (entry, preset) => ({ ...preset, ...toCoreOpenaiImage(request, entry) }),
      inItsWords: inImageWords,
      isInline: request.isInline,
      isAsync: request.isAsync,
      allAliases: true,
      write: openaiPictures,
    });
    tellIgnored(ctx, ignoredFields(request.leftOut));
    sendJsonText(ctx, text);
  };
