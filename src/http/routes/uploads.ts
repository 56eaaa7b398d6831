import { z } from 'zod';
import { uploadImage, type UploadDeps } from '../../services/files/upload-image.ts';
import type { Deps } from '../../deps.ts';
import { GatewayError } from '../../domain/errors.ts';
import { keyOf, type AppContext } from '../context.ts';
import { json } from '../description.ts';
import { UploadedFile } from '../openapi/schemas/file.ts';
import { ClientGone } from '../request/read-body.ts';
import { whenGone } from '../server/client-gone.ts';
import { endpoint, type Route } from '../route.ts';
import { mediaScope, postRow } from './common-rows.ts';

type UploadRouteDeps = UploadDeps & Pick<Deps, 'urls'>;

const picture = z.string().meta({ format: 'binary' });

/**
 * `POST /api/v1/images/upload` (spec §4.3): 201 with the stored image. An upload costs no credits, so it has no Idempotency-Key. It is
 * refused before its body is read if the project's storage is used up.
 */
export const uploadRoute = (deps: UploadRouteDeps): Route =>
  endpoint({
    ...postRow('/api/v1/images/upload', mediaScope),
    body: 'picture',
    beforeBody: [
      async (ctx, next) => {
        await deps.storage.assertCapacity(keyOf(ctx).projectId, 'upload');
        await next();
      },
    ],
    summary: 'Upload a picture',
    description:
      'One JPEG, PNG or WebP picture of up to 10 MB and 40 million pixels. It costs nothing, and `expires_at` says how long it is kept (24 hours by default). Use its `file_…` id as an input of a task.',
    tag: 'Images',
    accepts: {
      'multipart/form-data': z.object({ file: picture }),
      'image/png': picture,
      'image/jpeg': picture,
      'image/webp': picture,
    },
    answers: { 201: { description: 'The stored picture.', content: json(UploadedFile) } },
    errors: ['invalid_image', 'storage_quota_exceeded'],
    handler: (ctx) => uploadPicture(deps, ctx),
  });

/** Stops if the client disconnects before its picture is stored. A stored picture stays until it expires. */
async function uploadPicture(deps: UploadRouteDeps, ctx: AppContext): Promise<z.input<typeof UploadedFile>> {
  const { urls } = deps;
  const gone = whenGone(ctx);
  try {
    const bytes = ctx.request.picture ?? Buffer.alloc(0);
    const file = await uploadImage(deps, { projectId: keyOf(ctx).projectId, bytes, signal: gone });
    ctx.status = 201;
    return {
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
    if (gone.aborted && !(error instanceof GatewayError)) {
      throw new ClientGone('The client disconnected', { cause: error });
    }
    throw error;
  }
}
