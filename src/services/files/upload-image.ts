import { recordFile, type FileRow } from '../../db/files/files.ts';
import type { Deps } from '../../deps.ts';
import { GatewayError } from '../../domain/errors.ts';
import type { StorageGuard } from './storage-guard.ts';
import type { ImageDecoder, ImageRefusal } from '../../platform/media/decode-image.ts';
import { newId } from '../../platform/crypto/ids.ts';

/** The largest upload after re-encoding, which may make it larger. */
export const UPLOAD_STORED_MAX_BYTES = 25_000_000;

export type UploadDeps = Pick<Deps, 'config' | 'db' | 'files' | 'logger'> & {
  decodeImage: ImageDecoder;
  storage: StorageGuard;
};

/**
 * Stores a client's picture as an input for later requests of its project, for `UPLOAD_RETENTION_SECONDS`. The picture is decoded
 * and re-encoded, so that the stored file contains nothing but a picture (rules "Uploads"). Throws `invalid_image`, or
 * `overloaded` if too many images wait for the decoder.
 */
export async function uploadImage(
  deps: UploadDeps,
  { projectId, bytes, signal }: { projectId: string; bytes: Buffer; signal?: AbortSignal },
): Promise<FileRow & { width: number; height: number }> {
  const { config, db, files } = deps;
  const decoded = await deps.decodeImage(bytes, { owner: projectId, ...(signal && { signal }) });
  if (decoded.kind === 'refused') throw refusal(decoded.reason);
  const { image } = decoded;
  const size = { width: image.width, height: image.height };
  const id = newId('file');
  const storageKey = `uploads/${id}`;
  const stored = await files.put(storageKey, image.bytes, {
    maxBytes: image.bytes.length,
    contentType: image.mimeType,
    ...(signal && { signal }),
  });
  try {
    const row = await recordFile(db, {
      id,
      projectId,
      taskId: null,
      purpose: 'upload',
      storageKey,
      mimeType: image.mimeType,
      bytes: stored.bytes,
      sha256: stored.sha256,
      ...size,
      duration: null,
      keptSeconds: config.retention.uploadSeconds,
    });
    return { ...row, ...size };
  } catch (error) {
    // Retention finds files by their rows, so it would never delete this one.
    await files.delete(storageKey).catch((cause: unknown) => {
      deps.logger.warn({ err: cause, file_id: id }, 'the bytes of an upload without a row could not be deleted');
    });
    throw error;
  }
}

const messages = {
  not_an_image: 'The file must be a JPEG, PNG or WebP picture.',
  undecodable: 'The picture is damaged or incomplete.',
  too_many_pixels: 'The picture has too many pixels for its format.',
  too_slow: 'The picture takes too long to decode.',
  too_large: 'The picture is too large after re-encoding.',
} as const satisfies Record<Exclude<ImageRefusal, 'busy'>, string>;

const refusal = (reason: ImageRefusal): GatewayError =>
  reason === 'busy'
    ? new GatewayError('overloaded', {
        message: 'The server is decoding too many images at the same time. Try again in a few seconds.',
        retryAfterSeconds: 2,
      })
    : new GatewayError('invalid_image', { message: messages[reason], param: 'file' });
