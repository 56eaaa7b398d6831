import {
  inPredictWords,
  PredictBody,
  predictions,
  predictWords,
  readPredict,
  toCorePredict,
} from '../dialects/gemini/gemini-predict.ts';
import { exampleWith, firstOf } from '../openapi/model-examples.ts';
import { Predictions } from '../openapi/schemas/gemini-response.ts';
import { ignoredFields, tellIgnored } from '../request/ignored-fields.ts';
import { sendJsonText } from '../request/json-text.ts';
import { endpoint, type Route } from '../route.ts';
import { idempotencyKey, ignored, modelInPath, waitsForPictures } from './common-descriptions.ts';
import { mediaScope, postJsonRow, postPartsRow } from './common-rows.ts';
import { geminiFormatOf, formatQuery, jsonFormats, pictureBodyOf, type GeminiMount } from './gemini.ts';
import type { AnswerPictures } from './picture-answers.ts';

/**
 * `predict` under one prefix: the older way of Google's clients to ask for pictures. 200 with the pictures, or 504 with the id of a task that
 * takes longer.
 */
export const predictRoute = (answerPictures: AnswerPictures, { prefix, isV1 }: GeminiMount): Route =>
  endpoint({
    ...(isV1 ? postPartsRow : postJsonRow)(`${prefix}/models/:model\\:predict`, mediaScope),
    dialect: 'gemini',
    isCreate: true,
    summary: 'Generate pictures as Imagen does',
    description: 'For image models. Answers when the pictures are ready, or with 504 and the id of the task.',
    tag: 'Gemini',
    ...modelInPath('The id of an image model.', 'image'),
    query: formatQuery(jsonFormats),
    headers: idempotencyKey,
    accepts: { 'application/json': PredictBody },
    examples: (catalog) =>
      exampleWith(firstOf(catalog, 'image'), 'A picture', () => ({ instances: [{ prompt: 'A red fox in the snow' }] })),
    ...waitsForPictures(Predictions, isV1 ? ignored : {}),
    async handler(ctx, query) {
      geminiFormatOf(query);
      const { body, reading } = pictureBodyOf(ctx, isV1);
      const request = readPredict(body, reading);
      const text = await answerPictures(ctx, {
        dialect: 'gemini',
        // The scope of an Idempotency-Key.
        route: isV1 ? '/v1/models/{model}:predict' : '/api/v1beta/models/{model}:predict',
        body: { ...body, model: ctx.params['model'] ?? '' },
        coreBody: (entry, preset) => ({ ...preset, ...toCorePredict(request, entry) }),
        allAliases: true,
        inItsWords: inPredictWords,
        isInline: true,
        write: ({ task, pictures }) => predictions(task.id, pictures),
      });
      tellIgnored(ctx, ignoredFields(request.leftOut, predictWords));
      sendJsonText(ctx, text);
    },
  });
