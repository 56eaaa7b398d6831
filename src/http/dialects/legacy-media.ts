import type { CatalogEntry } from '../../domain/catalog.ts';
import { GatewayError, quoted } from '../../domain/errors.ts';
import type { JsonObject, JsonValue } from '../../domain/json.ts';

/**
 * A create request of the former platform as the core route takes it (spec §4.6): `aspectRatio` and `imageSize` under our
 * names, `images` where the model has room for them, the alias's parameters filled in. Fields under our own names stay as
 * they are. Throws `GatewayError` where two fields contradict each other, for nobody could tell which one is meant.
 */
export function toCoreMedia(
  body: JsonObject,
  { model, private: hidden }: CatalogEntry,
  preset: JsonObject,
): JsonObject {
  const { type, images, aspectRatio: _shape, imageSize: _size, ...core } = body;
  if (isGiven(type) && type !== model.type) {
    throw invalid('type', `type must be ${model.type} for the model ${model.id}, not ${quoted(type)}.`);
  }
  for (const [word, key] of Object.entries(legacyWords)) {
    const value = body[word];
    if (!isGiven(value)) continue;
    const ours = core[key];
    if (isGiven(ours) && ours !== value) {
      throw invalid(word, `${word} and ${key} are the same setting and must not differ.`);
    }
    core[key] = value;
  }
  for (const [key, value] of Object.entries(preset)) {
    const asked = core[key];
    if (isGiven(asked) && asked !== value) {
      const param = wordIn(body, key);
      throw invalid(param, `${param} must be ${JSON.stringify(value)} for ${quoted(body.model)}, or left out.`);
    }
    core[key] = value;
  }
  return { ...core, ...placeImages(images, core, { model, private: hidden }), model: model.id };
}

/** A refusal of the checks that all dialects share, its field named as this request named it. */
export function inLegacyWords(error: unknown, body: JsonObject): unknown {
  if (!(error instanceof GatewayError) || error.param === undefined) return error;
  const { code, param, retryAfterSeconds, shouldRetry, taskId, cause } = error;
  const word = wordIn(body, param);
  if (word === param) return error;
  const message = error.message.startsWith(param) ? `${word}${error.message.slice(param.length)}` : error.message;
  return new GatewayError(code, { message, param: word, retryAfterSeconds, shouldRetry, taskId, cause });
}

/** Two fields whose name alone is another. */
const legacyWords = { aspectRatio: 'aspect_ratio', imageSize: 'img_size' } as const;

/** As everywhere, `null` is as if absent. */
const isGiven = (value: JsonValue | undefined): value is JsonValue => value !== undefined && value !== null;

const invalid = (param: string, message: string): GatewayError => new GatewayError('invalid_value', { message, param });

/** What the request called our field `key`. */
function wordIn(body: JsonObject, key: string): string {
  if (key === 'image' || key === 'reference_images') return isGiven(body.images) ? 'images' : key;
  const word = Object.entries(legacyWords).find(([, ours]) => ours === key)?.[0];
  return word !== undefined && isGiven(body[word]) ? word : key;
}

/**
 * `images`, one or several: the first is `image` and the rest `reference_images`; all of them are, where the model takes
 * only those. An empty list is none, for forms send it.
 */
function placeImages(
  images: JsonValue | undefined,
  core: JsonObject,
  { model, private: hidden }: CatalogEntry,
): JsonObject {
  if (!isGiven(images)) return {};
  const list = typeof images === 'string' ? [images] : images;
  if (!Array.isArray(list) || !list.every((item) => typeof item === 'string' && item !== '')) {
    throw invalid('images', 'images must be a non-empty string or an array of them.');
  }
  if (list.length === 0) return {};
  if (isGiven(core.image) || isGiven(core.reference_images)) {
    throw invalid('images', 'images holds all pictures: no other field for pictures may stand beside it.');
  }
  const takesReferences = model.parameters.reference_images === true;
  // One that takes neither is refused by its own check of `image`.
  const takesImage = model.parameters.image === true || !takesReferences;
  const countMax = (takesImage ? 1 : 0) + (takesReferences ? hidden.reference_images_max : 0);
  if (model.parameters[takesImage ? 'image' : 'reference_images'] === true && list.length > countMax) {
    throw invalid('images', `images must be at most ${countMax} for the model ${model.id}.`);
  }
  const [first] = list;
  const references = takesImage ? list.slice(1) : list;
  return {
    ...(takesImage && first !== undefined && { image: first }),
    ...(references.length > 0 && { reference_images: references }),
  };
}
