import type { CatalogEntry } from '../catalog/catalog.ts';
import { GatewayError } from '../errors.ts';
import type { JsonObject } from '../json.ts';

/**
 * The pictures of a request in the fields of the core request. Of a model that takes both, the first is `image` and the rest are
 * `reference_images`. All are `reference_images` of a model that takes only these; one that takes only `image` refuses a second picture.
 * `param` is the client's name of the pictures, for the refusals.
 */
export function arrangePictures(pictures: readonly string[], { model }: CatalogEntry, param: string): JsonObject {
  const { image: takesImage, reference_images: takesReferences } = model.parameters;
  if (pictures.length === 0) return {};
  if (takesImage !== true && takesReferences !== true) {
    throw new GatewayError('unsupported_parameter', { param, message: 'This model accepts no images.' });
  }
  if (takesImage !== true) return { reference_images: [...pictures] };
  const [image = '', ...references] = pictures;
  if (references.length === 0) return { image };
  if (takesReferences === true) return { image, reference_images: references };
  const message = `${param}: must have at most one image for this model`;
  throw new GatewayError('invalid_value', { param, message });
}
