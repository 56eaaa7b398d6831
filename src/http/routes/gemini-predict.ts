import type { AppContext, AppMiddleware } from '../context.ts';
import { inPredictWords, predictions, predictWords, readPredict, toCorePredict } from '../dialects/gemini-predict.ts';
import { ignoredFields, tellIgnored } from '../request/ignored-fields.ts';
import type { Reading } from '../dialects/reading.ts';
import { sendJsonText } from '../request/json-text.ts';
import { demandJson } from './gemini.ts';
import type { AnswerPictures } from './picture-answers.ts';

/**
 * `POST …/models/{model}:predict`: the older way of Google's clients to ask for pictures. 200 with the pictures, or 504 with the id of a task
 * that takes longer. `keyScope` is the scope of an Idempotency-Key.
 */
export const predictPictures =
  (answerPictures: AnswerPictures, keyScope: string, readingFor: (ctx: AppContext) => Reading): AppMiddleware =>
  async (ctx) => {
    demandJson(ctx);
    const body = ctx.request.body ?? {};
    const request = readPredict(body, readingFor(ctx));
    const text = await answerPictures(ctx, {
      dialect: 'gemini',
      route: keyScope,
      body: { ...body, model: ctx.params['model'] ?? '' },
      coreBody: (entry, preset) => ({ ...preset, ...toCorePredict(request, entry) }),
      allAliases: true,
      inItsWords: inPredictWords,
      isInline: true,
      write: ({ task, pictures }) => predictions(task.id, pictures),
    });
    tellIgnored(ctx, ignoredFields(request.leftOut, predictWords));
    sendJsonText(ctx, text);
  };
