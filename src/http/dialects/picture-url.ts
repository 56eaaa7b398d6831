import { z } from 'zod';
import { isDataUri, splitDataUri } from '../../domain/chat/chat.ts';
import { isBase64 } from './base64.ts';
import { inlineMax } from './chat-fields.ts';

/**
 * A picture under `/v1`: a URL, or the bytes of a picture of a type that vendors read, in base64. Parameters of the media type are left out, because
 * providers refuse them. Whether the URL is public https is checked with the model (`prepareChat`).
 */
export const V1ImageUrl = z
  .string()
  .max(inlineMax)
  .overwrite((url) => url.replace(/^(data:image\/[\w.+-]{1,64})(?:;[\w-]{1,32}=[\w.+-]{1,64}){1,4}(?=;base64,)/i, '$1'))
  .refine(
    (url) => (isDataUri(url) ? isPicture(splitDataUri(url)) : URL.canParse(url)),
    'must be an https URL or a base64 data URI of a PNG, JPEG, WebP, GIF or HEIC picture',
  );

const isPicture = (uri: ReturnType<typeof splitDataUri>): boolean =>
  uri !== null && /^image\/(png|jpe?g|webp|gif|hei[cf])$/.test(uri.mimeType) && isBase64(uri.base64);
