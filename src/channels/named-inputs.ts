import type { JsonObject } from '../domain/json.ts';
import type { MediaInput, MediaRequest } from './channel.ts';

/**
 * The media inputs of a request by their addresses, under the names that a family usually has for them or that the catalog
 * gives for this model. A model with one list for every picture names it for both, and the first picture leads.
 */
export function namedInputs(
  request: MediaRequest,
  usualNames: Required<NonNullable<MediaRequest['inputNames']>>,
): JsonObject {
  const names = { ...usualNames, ...request.inputNames };
  const { image, referenceImages = [], videoUrl, audioUrl } = request;
  const isOneList = names.image === names.reference_images;
  const list = [...(image && isOneList ? [image] : []), ...referenceImages].map(urlOf);
  return {
    ...(list.length > 0 && { [names.reference_images]: list }),
    ...(image && !isOneList && { [names.image]: image.url }),
    ...(videoUrl && { [names.video_url]: videoUrl.url }),
    ...(audioUrl && { [names.audio_url]: audioUrl.url }),
  };
}

const urlOf = ({ url }: MediaInput): string => url;
