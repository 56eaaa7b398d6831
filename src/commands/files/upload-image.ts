import { recordFile, type FileRow } from '../../db/files.ts';
import type { Deps } from '../../deps.ts';
import { GatewayError } from '../../domain/errors.ts';
import type { ImageDecoder, ImageRefusal } from '../../platform/media/decode-image.ts';
import { newId } from '../../platform/crypto/ids.ts';

export type UploadDeps = Pick<Deps, 'config' | 'db' | 'files' | 'logger'> & { decodeImage: ImageDecoder };

/**
 * Keeps a client's picture as an input for later requests of its project, for `UPLOAD_RETENTION_SECONDS`. What is kept is
 * never what was sent: it is decoded and encoded anew, so it is a picture and nothing else (rules "Uploads"). Throws
 * `invalid_image`, or `overloaded` while too many pictures wait for the decoder.
 */
export async function uploadImage(
  deps: UploadDeps,
  { projectId, bytes, signal }: { projectId: string; bytes: Buffer; signal?: AbortSignal },
): Promise<FileRow> {
  const { config, db, files } = deps;
  const decoded = await deps.decodeImage(bytes, signal && { signal });
  if (decoded.kind === 'refused') throw refusal(decoded.reason);
  const { image } = decoded;
  const id = newId('file');
  const storageKey = `uploads/${id}`;
  const stored = await files.put(storageKey, image.bytes, {
    maxBytes: image.bytes.length,
    contentType: image.mimeType,
    ...(signal && { signal }),
  });
  try {
    return await recordFile(db, {
      id,
      projectId,
      taskId: null,
      purpose: 'upload',
      storageKey,
      mimeType: image.mimeType,
      bytes: stored.bytes,
      sha256: stored.sha256,
      width: image.width,
      height: image.height,
      duration: null,
      keptSeconds: config.retention.uploadSeconds,
    });
  } catch (error) {
    // Without a row no retention would ever find it.
    await files.delete(storageKey).catch((cause: unknown) => {
      deps.logger.warn({ err: cause, file_id: id }, 'a stored upload without a row is left behind');
    });
    throw error;
  }
}

const messages = {
  not_an_image: 'The file is neither a JPEG, nor a PNG, nor a WebP picture.',
  undecodable: 'The picture is damaged or cut short.',
  too_many_pixels: 'The picture has too many pixels for one of its kind.',
  too_slow: 'The picture takes too long to decode.',
  too_large: 'The picture is too large once it is decoded and encoded anew.',
} as const satisfies Record<Exclude<ImageRefusal, 'busy'>, string>;

const refusal = (reason: ImageRefusal): GatewayError =>
  reason === 'busy'
    ? new GatewayError('overloaded', { message: 'Too many pictures are being decoded.', retryAfterSeconds: 2 })
    : new GatewayError('invalid_image', { message: messages[reason], param: 'file' });
