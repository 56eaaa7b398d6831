import { uploadImage, type UploadDeps } from '../../services/files/upload-image.ts';
import type { Deps } from '../../deps.ts';
import { GatewayError } from '../../domain/errors.ts';
import { keyOf, type AppMiddleware } from '../context.ts';
import { ClientGone } from '../request/read-body.ts';

type UploadRouteDeps = UploadDeps & Pick<Deps, 'urls'>;

/** Refuses an upload of a project whose files leave no room for it. */
export const demandCapacity =
  ({ storage }: Pick<UploadRouteDeps, 'storage'>): AppMiddleware =>
  async (ctx, next) => {
    await storage.assertCapacity(keyOf(ctx).projectId, 'upload');
    await next();
  };

/**
 * `POST /api/v1/images/upload` (spec §4.3): 201 with the stored image. An upload costs no credits, so it has no Idempotency-Key.
 * The bytes of a client that disconnects are discarded.
 */
export const uploadImageRoute = (deps: UploadRouteDeps): AppMiddleware => {
  const { urls } = deps;
  return async (ctx) => {
    const gone = new AbortController();
    const onClose = (): void => {
      if (!ctx.res.writableFinished) gone.abort();
    };
    ctx.res.once('close', onClose);
    try {
      const bytes = ctx.request.picture ?? Buffer.alloc(0);
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
      ctx.res.off('close', onClose);
    }
  };
};
