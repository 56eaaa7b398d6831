import { z } from 'zod';
import type { CatalogEntry } from '../../../domain/catalog/catalog.ts';
import type { JsonObject } from '../../../domain/json.ts';
import type { FieldRules } from '../../request/unknown-fields.ts';
import type { Predictions } from '../../openapi/schemas/gemini-response.ts';
import { arrayOf } from '../../request/validate.ts';
import type { AnsweredPicture } from '../answered-picture.ts';
import { nonNullFields } from '../chat-fields.ts';
import { inWords } from '../dialect-words.ts';
import { aliased } from './gemini-fields.ts';
import { strictly, type Reading } from '../reading.ts';
import { supportedFields, type MediaLeftOut, readMediaBody } from '../unknown-media-fields.ts';

/** A predict request to an image model. Null means absent. */
export type PredictRequest = z.output<typeof PredictBody> & MediaLeftOut;

/**
 * Reads a predict request, as clients of Imagen send it (https://docs.cloud.google.com/vertex-ai/generative-ai/docs/model-reference/imagen-api,
 * read 2026-11-23). Throws `missing_parameter`, `invalid_value` or `unsupported_parameter`.
 */
export function readPredict(body: unknown, reading: Reading = strictly): PredictRequest {
  const { parsed, leftOut } = readMediaBody(PredictBody, body, predictRules, reading);
  return { ...parsed, ...nonNullFields({ leftOut }) };
}

const besides = (path: string, fields: readonly string[], advice: string): FieldRules['refused'] =>
  Object.fromEntries(
    fields.map((field) => [
      `${path}.${field}`,
      `The field ${path.replace('*', '0')}.${field} is not supported here: ${advice}`,
    ]),
  );
/** What would be another picture, or another form of it. */
const predictRules: FieldRules = {
  refused: {
    ...besides(
      'instances.*',
      ['image', 'mask', 'referenceImages', 'reference_images'],
      'send pictures to generateContent.',
    ),
    ...besides('parameters', ['guidanceScale', 'guidance_scale'], 'a model has one, so leave it out.'),
  },
};

export const PredictBody = aliased({
  // Each instance would be a picture of its own, which could fail and cost alone.
  instances: arrayOf(aliased({ prompt: z.string() }), { min: 1, max: 1 }),
  parameters: aliased({
    sampleCount: z.int().min(1).max(8).nullish(),
    aspectRatio: z.string().nullish(),
    sampleImageSize: z.string().nullish(),
    negativePrompt: z.string().nullish(),
    seed: z.int().nullish(),
    // A picture that a filter removed is an error here, with its reason.
    includeRaiReason: z.boolean().nullish(),
    // Open WebUI asks for PNG, Google's examples for JPEG. A provider may make another format, which the answer names.
    outputOptions: aliased({ mimeType: z.enum(['image/png', 'image/jpeg']).nullish() }).nullish(),
    includeSafetyAttributes: z.literal(false).nullish(),
    language: z.literal('auto').nullish(),
  }).nullish(),
});

/** The same request as the core route expects it. Only models that make several pictures in one request have the field `n`. */
export function toCorePredict({ instances, parameters, leftOut }: PredictRequest, entry: CatalogEntry): JsonObject {
  const { sampleCount, aspectRatio, sampleImageSize, negativePrompt, seed } = parameters ?? {};
  return {
    model: entry.model.id,
    prompt: instances[0]?.prompt ?? '',
    ...nonNullFields({
      n: sampleCount === 1 ? null : sampleCount,
      aspect_ratio: aspectRatio,
      // Google writes 2K where the catalog writes 2k.
      img_size: sampleImageSize?.toLowerCase(),
      negative_prompt: negativePrompt,
    }),
    ...supportedFields(nonNullFields({ seed }), entry, leftOut, {}),
  };
}

/** Refusals of the shared checks in the words of a predict request. */
export const inPredictWords = (error: unknown): unknown => inWords(predictWords, error);

export const predictWords = {
  prompt: 'instances.0.prompt',
  n: 'parameters.sampleCount',
  aspect_ratio: 'parameters.aspectRatio',
  img_size: 'parameters.sampleImageSize',
  negative_prompt: 'parameters.negativePrompt',
  seed: 'parameters.seed',
};

/** The response with pictures. One that is too large for an answer has its URL where Google has that of its own storage. */
export const predictions = (taskId: string, pictures: readonly AnsweredPicture[]): z.input<typeof Predictions> => ({
  predictions: pictures.map((picture) =>
    'url' in picture
      ? { mimeType: picture.mimeType, gcsUri: picture.url }
      : { mimeType: picture.mimeType, bytesBase64Encoded: picture.bytes.toString('base64') },
  ),
  metadata: { taskId },
});
