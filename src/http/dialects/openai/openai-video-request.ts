import { z } from 'zod';
import type { CatalogEntry } from '../../../domain/catalog/catalog.ts';
import type { JsonObject } from '../../../domain/json.ts';
import { clipSize } from '../../../domain/tasks/picture-size.ts';
import { arrangePictures } from '../../../domain/tasks/arrange-pictures.ts';
import { anyJson } from '../../request/validate.ts';
import { isNonNull, nonNullFields } from '../chat-fields.ts';
import { inWords } from '../dialect-words.ts';
import { demandApart, furtherMediaFields, PictureList, Reference, toReference } from './openai-image.ts';
import { strictly, type Reading } from '../reading.ts';
import { supportedFields, type MediaLeftOut, readMediaBody, type RefusedFields } from '../unknown-media-fields.ts';

/** A request for a video, read but not yet matched with its model. */
export interface OpenaiVideoRequest extends MediaLeftOut {
  seconds?: number;
  size?: string;
  /** URLs, `file_…` ids or data URIs, in order. OpenAI takes one; infinite-canvas sends a list. */
  references: string[];
  /** Everything else. The catalog entry decides which fields it takes. */
  further: JsonObject;
}

/** Reads `POST /v1/videos` (https://platform.openai.com/docs/api-reference/videos, read 2026-11-22), as JSON or as a form. Null means absent. */
export function readOpenaiVideo(body: unknown, reading: Reading = strictly): OpenaiVideoRequest {
  const { parsed, leftOut } = readMediaBody(OpenaiVideoBody, body, { refused: {} }, reading);
  const { seconds, size, input_reference: reference, ...further } = parsed;
  return {
    ...nonNullFields({ seconds: isNonNull(seconds) ? Number(seconds) : null, size, leftOut }),
    references: [reference].flat().filter(isNonNull).map(toReference),
    further: furtherMediaFields(further),
  };
}

export const OpenaiVideoBody = z
  .object({
    model: z.string().min(1).max(200),
    seconds: z
      .union([
        z.string().regex(/^[1-9]\d{0,3}$/, 'must be a number of seconds, such as "8"'),
        z.int().min(1).max(9_999),
      ])
      .nullish(),
    size: z.string().min(1).max(50).nullish(),
    input_reference: z.union([z.string().min(1), Reference, PictureList]).nullish(),
  })
  .catchall(anyJson);

/** The same request as the core route expects it. Throws `invalid_value` or `unsupported_parameter` with OpenAI's name of the field. */
export function toCoreOpenaiVideo(
  { seconds, size, references, further: furtherInput, leftOut }: OpenaiVideoRequest,
  entry: CatalogEntry,
): JsonObject {
  const further = supportedFields(furtherInput, entry, leftOut, refusedFields);
  const sized = size === undefined ? {} : clipSize(entry, size);
  demandApart(sized, further, 'size');
  const timed = nonNullFields({ duration: seconds });
  demandApart(timed, further, 'seconds');
  const placed = arrangePictures(references, entry, 'input_reference');
  demandApart(placed, further, 'input_reference');
  return { ...further, ...sized, ...timed, ...placed };
}

/** What would be another price or another clip. */
const refusedFields: RefusedFields = {
  n: 'send one request for each clip.',
  remix: 'clips are made from prompts and pictures only.',
  remix_video_id: 'clips are made from prompts and pictures only.',
  characters: 'clips are made from prompts and pictures only.',
  stream: 'poll the clip, or leave it out.',
};

/** Renames the field of a refusal by the shared checks to OpenAI's name of it, if the client used that. */
export const inVideoWords = ({ seconds, references }: OpenaiVideoRequest, error: unknown): unknown =>
  inWords(
    {
      ...(seconds !== undefined && { duration: 'seconds' }),
      ...(references.length > 0 && { image: 'input_reference', reference_images: 'input_reference' }),
    },
    error,
  );
