import { z } from 'zod';
import type { CatalogEntry } from '../../domain/catalog.ts';
import { GatewayError } from '../../domain/errors.ts';
import type { JsonObject } from '../../domain/json.ts';
import { validate } from '../validate.ts';
import { messagesMax, partsMax } from './chat-fields.ts';
import { aliased, dataUriOf, InlineData, refused } from './gemini-fields.ts';

/** What a generateContent request asks of an image model. */
export interface GeminiImageRequest {
  prompt: string;
  /** Data URIs, in order. */
  images: string[];
  aspectRatio?: string;
  imageSize?: string;
  seed?: number;
}

/**
 * A generateContent request to an image model (https://ai.google.dev/gemini-api/docs/image-generation, read 2026-11-21). The
 * prompt is every text, in order, a line each. Throws `missing_parameter`, `invalid_value` or `unsupported_parameter`.
 */
export function readGeminiImage(body: unknown): GeminiImageRequest {
  const { contents, generationConfig } = validate(Body, body);
  const parts = contents.flatMap((content) => content.parts);
  const { imageConfig, responseModalities, seed } = generationConfig ?? {};
  if (responseModalities && responseModalities.length > 0 && !responseModalities.includes('IMAGE')) {
    throw refused('generationConfig.responseModalities', 'this model answers with an IMAGE');
  }
  const { aspectRatio, imageSize } = imageConfig ?? {};
  return {
    prompt: parts.flatMap(({ text }) => (text === undefined ? [] : [text])).join('\n'),
    images: parts.flatMap(({ inlineData }) => (inlineData ? [dataUriOf(inlineData)] : [])),
    ...(typeof aspectRatio === 'string' && { aspectRatio }),
    ...(typeof imageSize === 'string' && { imageSize }),
    ...(typeof seed === 'number' && { seed }),
  };
}

const Part = aliased({ text: z.string().optional(), inlineData: InlineData.optional() }).refine(
  ({ text, inlineData }) => (text === undefined) !== (inlineData === undefined),
  'must have exactly one of text and inlineData: image models take nothing else',
);

const Body = aliased({
  // Some SDKs repeat the path's model.
  model: z.string().optional(),
  contents: z
    .array(
      aliased({
        // One prompt and no conversation: what a model said earlier has no place in it.
        role: z.literal('user', 'must be user: image models take no conversation').nullish(),
        parts: z.array(Part).min(1).max(partsMax),
      }),
    )
    .min(1)
    .max(messagesMax),
  generationConfig: aliased({
    candidateCount: z.literal(1).nullish(),
    responseModalities: z
      .array(z.enum(['TEXT', 'IMAGE']))
      .max(2)
      .nullish(),
    imageConfig: aliased({ aspectRatio: z.string().nullish(), imageSize: z.string().nullish() }).nullish(),
    seed: z.int().nullish(),
  }).nullish(),
});

/**
 * The same request as the core route takes it. The pictures go where the model has room: the first into `image`, the rest
 * into `reference_images`, or all into the one of the two that it has.
 */
export function toCoreImage(asked: GeminiImageRequest, { model }: CatalogEntry): JsonObject {
  const { images } = asked;
  const { image: takesImage, reference_images: takesReferences } = model.parameters;
  if (images.length > 0 && takesImage !== true && takesReferences !== true) {
    throw new GatewayError('unsupported_parameter', { param: 'contents', message: 'This model takes no images.' });
  }
  if (images.length > 1 && takesImage === true && takesReferences !== true) {
    throw refused('contents', 'this model takes one image');
  }
  const first = takesReferences === true && takesImage !== true ? undefined : images[0];
  const references = first === undefined ? images : images.slice(1);
  return {
    model: model.id,
    prompt: asked.prompt,
    ...(first !== undefined && { image: first }),
    ...(references.length > 0 && { reference_images: references }),
    ...(asked.aspectRatio !== undefined && { aspect_ratio: asked.aspectRatio }),
    // Google writes 2K where the catalog writes 2k.
    ...(asked.imageSize !== undefined && { img_size: asked.imageSize.toLowerCase() }),
    ...(asked.seed !== undefined && { seed: asked.seed }),
  };
}

/** A picture that goes into the answer itself, or the place where one lies that is too large for it. */
export type AnsweredPicture = { mimeType: string } & ({ bytes: Buffer } | { url: string });

/** The response for pictures. `responseId` is the task, by which they can also be polled. */
export const geminiPictures = ({
  taskId,
  model,
  pictures,
}: {
  taskId: string;
  model: string;
  pictures: readonly AnsweredPicture[];
}): JsonObject => ({
  candidates: [
    {
      content: {
        role: 'model',
        parts: pictures.map((picture): JsonObject =>
          'url' in picture
            ? { fileData: { mimeType: picture.mimeType, fileUri: picture.url } }
            : { inlineData: { mimeType: picture.mimeType, data: picture.bytes.toString('base64') } },
        ),
      },
      finishReason: 'STOP',
      index: 0,
    },
  ],
  // Pictures are priced by the request; clients add these up all the same.
  usageMetadata: { promptTokenCount: 0, candidatesTokenCount: 0, totalTokenCount: 0 },
  modelVersion: model,
  responseId: taskId,
});
