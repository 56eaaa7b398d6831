import type { AppMiddleware } from '../context.ts';
import {
  inImageWords,
  openaiPictures,
  readOpenaiEdit,
  readOpenaiImage,
  toCoreOpenaiImage,
  type OpenaiImageRequest,
} from '../dialects/openai-image.ts';
import { readIdempotencyKey } from '../idempotency-key.ts';
import { createTask } from './media.ts';
import type { AnswerPictures } from './picture-answers.ts';

type ImageDeps = Parameters<typeof createTask>[0];

/** `POST /v1/images/generations`: 200 with the pictures, or 504 with the id of a task that takes longer. */
export const generateImages = (deps: ImageDeps, answerPictures: AnswerPictures): AppMiddleware =>
  answerImages(deps, answerPictures, { route: '/v1/images/generations', read: readOpenaiImage });

/** `POST /v1/images/edits`: the same from pictures of the client. */
export const editImages = (deps: ImageDeps, answerPictures: AnswerPictures): AppMiddleware =>
  answerImages(deps, answerPictures, { route: '/v1/images/edits', read: readOpenaiEdit });

const answerImages =
  (
    deps: ImageDeps,
    answerPictures: AnswerPictures,
    { route, read }: { route: string; read: (body: unknown) => OpenaiImageRequest },
  ): AppMiddleware =>
  async (ctx) => {
    const idempotencyKey = readIdempotencyKey(ctx);
    const body = ctx.request.body ?? {};
    const asked = read(body);
    const text = await answerPictures(ctx, {
      idempotencyKey,
      isInline: asked.isInline,
      create: () =>
        createTask(deps, ctx, {
          dialect: 'openai',
          type: 'image',
          route,
          idempotencyKey,
          body,
          coreBody: (entry) => toCoreOpenaiImage(asked, entry),
        }).catch((error: unknown) => {
          throw inImageWords(error);
        }),
      write: openaiPictures,
    });
    ctx.type = 'application/json; charset=utf-8';
    // A string would be in the heap and a second time in the socket until a slow client has read it.
    ctx.body = Buffer.from(text);
  };
