import { z } from 'zod';
import type { CatalogEntry } from '../../../domain/catalog/catalog.ts';
import { GatewayError } from '../../../domain/errors.ts';
import type { JsonObject } from '../../../domain/json.ts';
import { acceptedParameters } from '../../../domain/catalog/parameters.ts';
import { pictureSize } from '../../../domain/tasks/picture-size.ts';
import { arrangePictures } from '../../../domain/tasks/arrange-pictures.ts';
import type { TaskView } from '../../../domain/tasks/task-view.ts';
import type { OpenaiImages } from '../../openapi/schemas/openai-images.ts';
import { anyJson, arrayOf } from '../../request/validate.ts';
import type { AnsweredPicture } from '../answered-picture.ts';
import { nonNullFields, isNonNull, withoutHarmless, type HarmlessValues } from '../chat-fields.ts';
import { inWords } from '../dialect-words.ts';
import { strictly, type Reading } from '../reading.ts';
import { supportedFields, type MediaLeftOut, readMediaBody, type RefusedFields } from '../unknown-media-fields.ts';

/** A request for pictures, read but not yet matched with its model. */
export interface OpenaiImageRequest extends MediaLeftOut {
  /** URLs, `file_…` ids or data URIs, in order. */
  images: string[];
  size?: string;
  /** Whether the pictures are wanted as base64, which is the default, or as URLs. */
  isInline: boolean;
  /** Whether the answer is the task, which the client polls. */
  isAsync: boolean;
  /** Everything else. The catalog entry decides which fields it takes. */
  further: JsonObject;
}

/**
 * Reads `POST /v1/images/generations` (https://platform.openai.com/docs/api-reference/images, read 2026-11-22). `n`, `quality`, `background`,
 * `output_format` and the rest are fields of the model's catalog entry or refused by their name. Null means absent.
 */
export function readOpenaiImage(body: unknown, reading: Reading = strictly): OpenaiImageRequest {
  const { parsed, leftOut } = readMediaBody(OpenaiImageBody, body, { refused: {} }, reading);
  return toImageRequest(parsed, [], leftOut);
}

/** Reads `POST /v1/images/edits`: the same with pictures, from a form or, as JSON, in `images`. */
export function readOpenaiEdit(body: unknown, reading: Reading = strictly): OpenaiImageRequest {
  const { parsed, leftOut } = readMediaBody(OpenaiEditBody, body, { refused: {} }, reading);
  const { image, images, ...rest } = parsed;
  const pictures = [...(Array.isArray(image) ? image : [image]), ...(images ?? [])].filter(isNonNull).map(toReference);
  if (pictures.length === 0) {
    throw new GatewayError('missing_parameter', { param: 'image', message: 'The field image is required.' });
  }
  return toImageRequest(rest, pictures, leftOut);
}

function toImageRequest(
  parsed: z.output<typeof OpenaiImageBody>,
  images: string[],
  leftOut: string[] | undefined,
): OpenaiImageRequest {
  // No provider of pictures is sent the client's names of its end users.
  const { size, response_format: format, async, user: _user, safety_identifier: _identifier, ...rest } = parsed;
  return {
    images,
    // DALL·E answers with a URL unless the client asks for something else, and programs that name it read only that.
    isInline: isNonNull(format) ? format !== 'url' : !/(^|\/)dall-e/.test(rest.model),
    isAsync: async === true,
    ...nonNullFields({ size, leftOut }),
    further: withoutHarmless(furtherMediaFields(rest), harmless),
  };
}

export const OpenaiImageBody = z
  .object({
    model: z.string().min(1).max(200),
    size: z.string().min(1).max(50).nullish(),
    response_format: z.enum(['url', 'b64_json', 'base64']).nullish(),
    async: z
      .boolean()
      .nullish()
      .describe('True: the answer is 202 with the task, which is polled at `/api/v1/tasks/{task_id}`.'),
    user: z.string().max(512).nullish(),
    safety_identifier: z.string().max(512).nullish(),
  })
  .catchall(anyJson);

/** OpenAI's own limit of the pictures of an edit. */
export const editedPicturesMax = 16;
export const Reference = z
  .strictObject({
    image_url: z.string().min(1).optional(),
    file_id: z.string().min(1).optional(),
    // xAI's form, which the AI SDK sends (`packages/xai/src/xai-image-model.ts`, read 2026-11-29).
    url: z.string().min(1).optional(),
    type: z.literal('image_url').optional(),
  })
  .refine(
    ({ image_url, file_id, url }) => [image_url, file_id, url].filter(isNonNull).length === 1,
    'must have exactly one of image_url and file_id',
  );
export const toReference = (reference: string | z.output<typeof Reference>): string =>
  typeof reference === 'string' ? reference : (reference.image_url ?? reference.url ?? reference.file_id ?? '');
const Picture = z.union([z.string().min(1), Reference]);
export const PictureList = arrayOf(Picture, { max: editedPicturesMax });
export const OpenaiEditBody = OpenaiImageBody.extend({
  image: z.union([Picture, PictureList]).nullish(),
  images: arrayOf(Reference, { max: editedPicturesMax }).nullish(),
});

/** Values that change nothing here. A field with such a value is accepted and not sent. */
const harmless: HarmlessValues = {
  n: [1],
  quality: ['auto', 'standard'],
  background: ['auto'],
  moderation: ['auto'],
  output_compression: [100],
  partial_images: [0],
  stream: [false],
};

/** The fields that the catalog entry decides about. A quote has an answer of its own, which OpenAI's clients cannot read. */
export function furtherMediaFields(rest: Record<string, unknown>): JsonObject {
  const { dry_run: isQuote, ...further } = rest;
  if (isNonNull(isQuote) && isQuote !== false) {
    const message = 'dry_run is supported under /api/v1 only.';
    throw new GatewayError('unsupported_parameter', { param: 'dry_run', message });
  }
  return nonNullFields(further) as JsonObject;
}

/** The same request as the core route expects it. Throws `invalid_value` or `unsupported_parameter` with OpenAI's name of the field. */
export function toCoreOpenaiImage(
  { images, size, further, leftOut }: OpenaiImageRequest,
  entry: CatalogEntry,
): JsonObject {
  const fields = supportedFields(withoutSameEffect(further, entry), entry, leftOut, refusedFields);
  const sized = size === undefined ? {} : pictureSize(entry, size);
  demandApart(sized, fields, 'size');
  const placed = arrangePictures(images, entry, 'image');
  demandApart(placed, fields, 'image');
  return { ...fields, ...sized, ...placed };
}

/** What would be another price, another picture or another form of the answer. */
const refusedFields: RefusedFields = {
  n: 'send one request for each picture.',
  quality: 'it has one quality, so leave it out.',
  background: 'describe the background in the prompt.',
  output_format: 'it has one format, so leave it out.',
  mask: 'describe in the prompt what is to change.',
  stream: 'the pictures come in one answer, so send false or leave it out.',
  partial_images: 'send 0 or leave it out.',
};

/** What clients of earlier models of OpenAI send. A model without such a setting has one quality, one style and the filters of its provider. */
const earlierSettings: HarmlessValues = {
  quality: ['hd'],
  style: ['vivid', 'natural'],
  moderation: ['low'],
};

/** Without the fields that the model does not have and that ask for what it does anyway, such as the format that its catalog entry fixes. */
function withoutSameEffect(further: JsonObject, entry: CatalogEntry): JsonObject {
  const accepted = acceptedParameters(entry);
  const mappings = Object.values(entry.private.upstream);
  const isFixed = (field: string, value: unknown): boolean =>
    mappings.length > 0 && mappings.every(({ fixed }) => isNonNull(value) && fixed?.[field] === value);
  const own = Object.entries(further).filter(([field]) => accepted.has(field));
  const others = Object.entries(further).filter(([field, value]) => !accepted.has(field) && !isFixed(field, value));
  return { ...Object.fromEntries(own), ...withoutHarmless(Object.fromEntries(others), earlierSettings) };
}

/** Throws if the client names a parameter of the model beside the field of OpenAI that stands for it, with another value. */
export function demandApart(translated: JsonObject, further: JsonObject, param: string): void {
  const twice = Object.keys(translated).find((key) => isNonNull(further[key]) && further[key] !== translated[key]);
  if (twice === undefined) return;
  throw new GatewayError('invalid_value', { param, message: `${param} cannot be combined with ${twice}.` });
}

/** Renames the field of a refusal by the shared checks to OpenAI's name of it. */
export const inImageWords = (error: unknown): unknown => inWords({ reference_images: 'image' }, error);

/** Writes the pictures. Counts of tokens are not known, because pictures are priced by request. */
export function openaiPictures({
  task,
  pictures,
}: {
  task: EndedTask;
  pictures: readonly AnsweredPicture[];
}): z.input<typeof OpenaiImages> {
  const [first] = task.output ?? [];
  const size = first?.width && first.height ? `${first.width}x${first.height}` : null;
  return {
    created: task.completedAt ?? task.createdAt,
    data: pictures.map((picture) =>
      'url' in picture ? { url: picture.url } : { b64_json: picture.bytes.toString('base64') },
    ),
    ...nonNullFields({ size, output_format: formats[first?.mime_type ?? ''] }),
  };
}

type EndedTask = Pick<TaskView, 'createdAt' | 'completedAt' | 'output'>;

/** OpenAI's formats. Its clients have no word for others. */
const formats: Readonly<Partial<Record<string, string>>> = {
  'image/png': 'png',
  'image/jpeg': 'jpeg',
  'image/webp': 'webp',
};
