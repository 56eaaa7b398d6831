import { splitDataUri } from '../../domain/chat/chat.ts';
import type { JsonObject } from '../../domain/json.ts';
import type { MediaInput, MediaRequest } from '../channel.ts';

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
  const list = (hasOneList ? imagesOf(request) : referenceImages).map(({ url }) => url);
  return {
    ...(list.length > 0 && { [names.reference_images]: list }),
    ...(image && !hasOneList && { [names.image]: image.url }),
    ...(videoUrl && { [names.video_url]: videoUrl.url }),
    ...(audioUrl && { [names.audio_url]: audioUrl.url }),
  };
}

/** All images of a request: `image`, which is the first frame of a clip, before the references. */
export const imagesOf = ({ image, referenceImages = [] }: MediaRequest): MediaInput[] => [
  ...(image ? [image] : []),
  ...referenceImages,
];

/** The bytes of an input. Families that need bytes set `inputsAsBytes`, so a URL here is a bug. */
export function inlineInput(input: MediaInput): { mimeType: string; base64: string } {
  const inline = splitDataUri(input.url);
  if (!inline) throw new Error('An input of this family must be a data URI.');
  return inline;
}

/** The prompt and the inputs as the parts of one list, for Seedance and MiniMax. */
export function contentParts({ prompt, image, referenceImages = [], videoUrl, audioUrl }: MediaRequest): JsonObject[] {
  const part = (type: 'image_url' | 'video_url' | 'audio_url', { url }: MediaInput, role: string): JsonObject => ({
    type,
    [type]: { url },
    role,
  });
  return [
    { type: 'text', text: prompt },
    ...(image ? [part('image_url', image, 'first_frame')] : []),
    ...referenceImages.map((reference) => part('image_url', reference, 'reference_image')),
    ...(videoUrl ? [part('video_url', videoUrl, 'reference_video')] : []),
    ...(audioUrl ? [part('audio_url', audioUrl, 'reference_audio')] : []),
  ];
}
