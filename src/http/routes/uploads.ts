import { uploadImage, type UploadDeps } from '../../commands/files/upload-image.ts';
import type { Deps } from '../../deps.ts';
import { GatewayError } from '../../domain/errors.ts';
import { createByteBudget } from '../byte-budget.ts';
import { keyOf, type AppMiddleware } from '../context.ts';
import { ClientGone } from '../read-body.ts';
import { readUpload, UPLOAD_TIMEOUT_SECONDS } from '../read-upload.ts';

/** The largest picture as it is sent. */
const UPLOAD_MAX_BYTES = 10_000_000;
/** Uploads that one process holds in memory while they arrive: twelve of the largest. */
const UPLOADS_BUFFERED_MAX_BYTES = 128_000_000;

type UploadRouteDeps = UploadDeps & Pick<Deps, 'urls'>;

/**
 * `POST /api/v1/images/upload` (spec §4.3): 201 with the stored image. An upload costs no credits, so it has no Idempotency-Key.
 * The bytes of a client that disconnects are discarded.
 */
export const uploadImageRoute = (deps: UploadRouteDeps): AppMiddleware => {
  const { urls } = deps;
  const memory = createByteBudget(
    UPLOADS_BUFFERED_MAX_BYTES,
    'The server is receiving too many uploads at the same time. Try again in a few seconds.',
  );
  return async (ctx) => {
    const gone = new AbortController();
    const onClose = (): void => {
      if (!ctx.res.writableFinished) gone.abort();
    };
    ctx.res.once('close', onClose);
    const share = memory.open();
    try {
      await deps.storage.assertRoom(keyOf(ctx).projectId, 'upload');
      const timeoutMs = UPLOAD_TIMEOUT_SECONDS * 1_000;
      const bytes = await readUpload(ctx, { maxBytes: UPLOAD_MAX_BYTES, timeoutMs, share });
      const file = await uploadImage(deps, { projectId: keyOf(ctx).projectId, bytes, signal: gone.signal });
      ctx.status = 201;
      ctx.body = {
        id: file.id,
        object: 'file',
        url: urls.sign(file.id, file.expiresAt),
        mime_type: file.mimeType,
        bytes: file.bytes,
        width: file.width,
        height: file.height,
        sha256: file.sha256,
        created_at: file.createdAt,
        expires_at: file.expiresAt,
      };
    } catch (error) {
      if (gone.signal.aborted && !(error instanceof GatewayError)) {
        throw new ClientGone('The client disconnected', { cause: error });
      }
      throw error;
    } finally {
      share.release();
      ctx.res.off('close', onClose);
    }
  };
};
