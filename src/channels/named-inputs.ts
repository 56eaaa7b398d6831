import type { JsonObject } from '../domain/json.ts';
import type { MediaInput, MediaRequest } from './channel.ts';

/**
 * The URLs of a request's media inputs under the provider's names: the family's usual names, or the catalog's for this model. If
 * a model has one list for all images, both image names are equal and `image` comes first in the list.
 */
export function namedInputs(
  request: MediaRequest,
  usualNames: Required<NonNullable<MediaRequest['inputNames']>>,
): JsonObject {
  const names = { ...usualNames, ...request.inputNames };
  const { image, referenceImages = [], videoUrl, audioUrl } = request;
  const hasOneList = names.image === names.reference_images;
  const list = [...(image && hasOneList ? [image] : []), ...referenceImages].map(urlOf);
  return {
    ...(list.length > 0 && { [names.reference_images]: list }),
    ...(image && !hasOneList && { [names.image]: image.url }),
    ...(videoUrl && { [names.video_url]: videoUrl.url }),
    ...(audioUrl && { [names.audio_url]: audioUrl.url }),
  };
}

const urlOf = ({ url }: MediaInput): string => url;
