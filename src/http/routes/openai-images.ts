import type { AppMiddleware } from '../context.ts';
import {
  inImageWords,
  openaiPictures,
  readOpenaiEdit,
  readOpenaiImage,
  toCoreOpenaiImage,
  type OpenaiImageRequest,
} from '../dialects/openai-image.ts';
import type { Reading } from '../dialects/reading.ts';
import { ignoredFields, readingOf, tellIgnored } from '../request/ignored-fields.ts';
import { sendJsonText } from '../request/json-text.ts';
import { proxyWaitSeconds, type AnswerPictures } from './picture-answers.ts';

/**
 * `POST /v1/images/generations`: 200 with the pictures, or 504 with the id of a task that takes longer. With `async: true` 202 with the task, as
 * polled.
 */
export const generateImages = (answerPictures: AnswerPictures): AppMiddleware =>
  answerImages(answerPictures, '/v1/images/generations', readOpenaiImage);

/** `POST /v1/images/edits`: the same from pictures of the client. */
export const editImages = (answerPictures: AnswerPictures): AppMiddleware =>
  answerImages(answerPictures, '/v1/images/edits', readOpenaiEdit);

const answerImages =
  (
    answerPictures: AnswerPictures,
    route: string,
    read: (body: unknown, reading: Reading) => OpenaiImageRequest,
  ): AppMiddleware =>
  async (ctx) => {
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
      waitMaxSeconds: proxyWaitSeconds,
      allAliases: true,
      write: openaiPictures,
    });
    tellIgnored(ctx, ignoredFields(request.leftOut));
    sendJsonText(ctx, text);
  };
