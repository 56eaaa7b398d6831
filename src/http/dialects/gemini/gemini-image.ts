import { z } from 'zod';
import type { CatalogEntry } from '../../../domain/catalog/catalog.ts';
import type { JsonObject } from '../../../domain/json.ts';
import { arrangePictures } from '../../../domain/tasks/arrange-pictures.ts';
import type { FieldRules } from '../../request/unknown-fields.ts';
import type { GeminiResponse } from '../../openapi/schemas/gemini-response.ts';
import { arrayOf } from '../../request/validate.ts';
import type { AnsweredPicture } from '../answered-picture.ts';
import { fieldError, nonNullFields, itemsMax } from '../chat-fields.ts';
import { uncounted } from './gemini-chat-reply.ts';
import { aliased, dataUriOf, InlineData, wordOf } from './gemini-fields.ts';
import { strictly, type Reading } from '../reading.ts';
import { supportedFields, type MediaLeftOut, readMediaBody } from '../unknown-media-fields.ts';

/** A generateContent request to an image model. */
export interface GeminiImageRequest extends MediaLeftOut {
  prompt: string;
  /** Data URIs, in order. */
  images: string[];
  aspectRatio?: string;
  imageSize?: string;
  seed?: number;
}

/**
 * A generateContent request to an image model (https://ai.google.dev/gemini-api/docs/image-generation, read 2026-11-21). The
 * prompt is all texts in order, one per line. Throws `missing_parameter`, `invalid_value` or `unsupported_parameter`.
 */
export function readGeminiImage(body: unknown, reading: Reading = strictly): GeminiImageRequest {
  const { parsed, leftOut } = readMediaBody(GeminiImageBody, body, imageRules, reading);
  const { contents, generationConfig } = parsed;
  const parts = contents.flatMap((content) => content.parts);
  const { imageConfig, responseModalities, seed } = generationConfig ?? {};
  if (responseModalities && responseModalities.length > 0 && !responseModalities.includes('IMAGE')) {
    throw fieldError('generationConfig.responseModalities', 'must include IMAGE, because this model returns images');
  }
  const { aspectRatio, imageSize } = imageConfig ?? {};
  return {
    prompt: parts.flatMap(({ text }) => (text === undefined ? [] : [text])).join('\n'),
    images: parts.flatMap(({ inlineData }) => (inlineData ? [dataUriOf(inlineData)] : [])),
    ...nonNullFields({ aspectRatio, imageSize, seed, leftOut }),
  };
}

/** What would be another picture. */
const imageRules: FieldRules = {
  refused: Object.fromEntries(
    ['systemInstruction', 'system_instruction', 'tools', 'cachedContent', 'cached_content'].map((field) => [
      field,
      `The field ${field} is not supported for image models: send all of it in contents.`,
    ]),
  ),
};

const Part = aliased({ text: z.string().optional(), inlineData: InlineData.optional() }).refine(
  ({ text, inlineData }) => (text === undefined) !== (inlineData === undefined),
  'must have exactly one of text and inlineData, because image models accept nothing else',
);

export const GeminiImageBody = aliased({
  // Some SDKs repeat the path's model.
  model: z.string().optional(),
  contents: arrayOf(
    aliased({
      // The contents are one prompt and not a conversation, so model turns are refused.
      role: z.literal('user', 'must be user, because image models accept no conversation').nullish(),
      parts: arrayOf(Part, { min: 1, max: itemsMax }),
    }),
    { min: 1, max: itemsMax },
  ),
  generationConfig: aliased({
    candidateCount: z.literal(1).nullish(),
    responseModalities: z
      .array(wordOf(['TEXT', 'IMAGE']))
      .max(2)
      .nullish(),
    imageConfig: aliased({ aspectRatio: z.string().nullish(), imageSize: z.string().nullish() }).nullish(),
    seed: z.int().nullish(),
  }).nullish(),
});

/** The same request as the core route expects it. */
export const toCoreImage = (request: GeminiImageRequest, entry: CatalogEntry): JsonObject => ({
  model: entry.model.id,
  prompt: request.prompt,
  ...arrangePictures(request.images, entry, 'contents'),
  ...nonNullFields({
    aspect_ratio: request.aspectRatio,
    // Google writes 2K where the catalog writes 2k.
    img_size: request.imageSize?.toLowerCase(),
  }),
  ...supportedFields(nonNullFields({ seed: request.seed }), entry, request.leftOut, {}),
});

/** The response with pictures. `responseId` is the task id, by which the client can also poll. */
export const geminiPictures = ({
  taskId,
  model,
  pictures,
}: {
  taskId: string;
  model: string;
  pictures: readonly AnsweredPicture[];
}): z.input<typeof GeminiResponse> => ({
  candidates: [
    {
      content: {
        role: 'model',
        parts: pictures.map((picture) =>
          'url' in picture
            ? { fileData: { mimeType: picture.mimeType, fileUri: picture.url } }
            : { inlineData: { mimeType: picture.mimeType, data: picture.bytes.toString('base64') } },
        ),
      },
      finishReason: 'STOP',
      index: 0,
    },
  ],
  usageMetadata: uncounted,
  modelVersion: model,
  responseId: taskId,
});
