import type { AppMiddleware } from '../context.ts';
import { inPredictWords, predictions, readPredict, toCorePredict } from '../dialects/gemini-predict.ts';
import { readIdempotencyKey } from '../idempotency-key.ts';
import { demandJson } from './gemini.ts';
import { createTask } from './media.ts';
import type { AnswerPictures } from './picture-answers.ts';

/**
 * `POST …/models/{model}:predict`: the older way of Google's clients to ask for pictures. 200 with the pictures, or 504 with the id of a task
 * that takes longer. `keyScope` is the scope of an Idempotency-Key.
 */
export const predictPictures =
  (deps: Parameters<typeof createTask>[0], answerPictures: AnswerPictures, keyScope: string): AppMiddleware =>
  async (ctx) => {
    demandJson(ctx);
    const idempotencyKey = readIdempotencyKey(ctx);
    const body = ctx.request.body ?? {};
    const asked = readPredict(body);
    const text = await answerPictures(ctx, {
      idempotencyKey,
      isInline: true,
      create: () =>
        createTask(deps, ctx, {
          dialect: 'gemini',
          type: 'image',
          route: keyScope,
          idempotencyKey,
          body: { ...body, model: ctx.params['model'] ?? '' },
          coreBody: (entry) => toCorePredict(asked, entry),
        }).catch((error: unknown) => {
          throw inPredictWords(error);
        }),
      write: ({ task, pictures }) => predictions(task.id, pictures),
    });
    ctx.type = 'application/json; charset=utf-8';
    // A string would be in the heap and a second time in the socket until a slow client has read it.
    ctx.body = Buffer.from(text);
  };
