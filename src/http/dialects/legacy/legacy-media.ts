import type { CatalogEntry } from '../../../domain/catalog/catalog.ts';
import { GatewayError, quoted } from '../../../domain/errors.ts';
import type { JsonObject, JsonValue } from '../../../domain/json.ts';
import { isMade } from '../../../domain/tasks/offered-requests.ts';
import { isNonNull } from '../chat-fields.ts';

/**
 * Translates a create request of the former platform into one of the core route (spec §4.6). `aspectRatio` and `imageSize` get our
 * names, `images` go to the fields that the model accepts, and the alias adds its parameters. Fields under our own names stay.
 * Throws `GatewayError` if two fields contradict each other.
 */
export function toCoreMedia(body: JsonObject, entry: CatalogEntry, preset: JsonObject): JsonObject {
  const { model } = entry;
  const { type, images, aspectRatio: _shape, imageSize: _size, ...core } = body;
  if (isNonNull(type) && type !== model.type) {
    throw invalid('type', `type must be ${model.type} for the model ${model.id}, not ${quoted(type)}.`);
  }
  for (const [word, key] of Object.entries(legacyWords)) {
    const value = body[word];
    if (!isNonNull(value)) continue;
    const ours = core[key];
    if (isNonNull(ours) && ours !== value) {
      throw invalid(word, `${word} and ${key} are the same setting and must not differ.`);
    }
    core[key] = value;
  }
  for (const [key, value] of Object.entries(preset)) {
    const requestedValue = core[key];
    if (isNonNull(requestedValue) && requestedValue !== value) {
      const param = wordIn(body, key);
      throw invalid(param, `${param} must be ${JSON.stringify(value)} for ${quoted(body.model)}, or left out.`);
    }
    core[key] = value;
  }
  return { ...core, ...arrangeImages(images, core, entry), model: model.id };
}

/** Renames the field of a refusal by the shared checks to the name that this request used. */
export function inLegacyWords(error: unknown, body: JsonObject): unknown {
  if (!(error instanceof GatewayError) || error.param === undefined) return error;
  const { code, param, retryAfterSeconds, shouldRetry, taskId, accepted, cause } = error;
  const word = wordIn(body, param);
  if (word === param) return error;
  const message = error.message.startsWith(param) ? `${word}${error.message.slice(param.length)}` : error.message;
  return new GatewayError(code, { message, param: word, retryAfterSeconds, shouldRetry, taskId, accepted, cause });
}

/** Two fields that differ by their name only. */
const legacyWords = { aspectRatio: 'aspect_ratio', imageSize: 'img_size' } as const;

const invalid = (param: string, message: string): GatewayError => new GatewayError('invalid_value', { message, param });

/** The name that the request used for our field `key`. */
function wordIn(body: JsonObject, key: string): string {
  if (key === 'image' || key === 'reference_images') return isNonNull(body.images) ? 'images' : key;
  const word = Object.entries(legacyWords).find(([, ours]) => ours === key)?.[0];
  return word !== undefined && isNonNull(body[word]) ? word : key;
}

/**
 * `images`, one or several: the first becomes `image` and the rest `reference_images`. If the model accepts only `reference_images`, or not
 * both together, all of several go there. An empty list counts as absent, because forms send it.
 */
function arrangeImages(images: JsonValue | undefined, core: JsonObject, entry: CatalogEntry): JsonObject {
  if (!isNonNull(images)) return {};
  const list = typeof images === 'string' ? [images] : images;
  if (!Array.isArray(list) || !list.every((item) => typeof item === 'string' && item !== '')) {
    throw invalid('images', 'images must be a non-empty string or an array of such strings.');
  }
  if (list.length === 0) return {};
  if (isNonNull(core.image) || isNonNull(core.reference_images)) {
    throw invalid(
      'images',
      'images cannot be combined with another field for images. Send all images in the field images.',
    );
  }
  const { model, private: hidden } = entry;
  const takesReferences = model.parameters.reference_images === true;
  // A model that accepts neither field is refused by the check of `image`.
  const takesImage = model.parameters.image === true || !takesReferences;
  const takesBoth = takesImage && takesReferences && isMade(entry, { image: '', reference_images: [] });
  const hasImage = takesImage && (takesBoth || !takesReferences || list.length === 1);
  const countMax = takesReferences ? hidden.reference_images_max + (takesBoth ? 1 : 0) : 1;
  if (model.parameters[takesImage ? 'image' : 'reference_images'] === true && list.length > countMax) {
    throw invalid('images', `images must have at most ${countMax} items for the model ${model.id}.`);
  }
  const [first] = list;
  const references = hasImage ? list.slice(1) : list;
  return {
    ...(hasImage && first !== undefined && { image: first }),
    ...(references.length > 0 && { reference_images: references }),
  };
}
