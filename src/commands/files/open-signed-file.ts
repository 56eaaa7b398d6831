import { PassThrough, type Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { findFile } from '../../db/files.ts';
import type { Deps } from '../../deps.ts';
import type { ByteRange } from '../../platform/files/file-store.ts';

const extensions: Record<string, string> = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/webp': 'webp',
  'image/gif': 'gif',
  'image/avif': 'avif',
  'video/mp4': 'mp4',
  'video/webm': 'webm',
  'video/quicktime': 'mov',
  'audio/mpeg': 'mp3',
  'audio/wav': 'wav',
};

/** The file of a signed URL. Null if the signature is wrong or has expired, or the file is missing; callers cannot tell which. */
export async function openSignedFile(
  { db, files, urls }: Pick<Deps, 'db' | 'files' | 'urls'>,
  fileId: string,
  expires: number,
  signature: string,
) {
  if (!urls.verify(fileId, String(expires), signature, Date.now() / 1000)) return null;
  const file = await findFile(db, fileId);
  if (!file || !(await files.exists(file.storageKey))) return null;
  return {
    bytes: file.bytes,
    mimeType: file.mimeType,
    sha256: file.sha256,
    fileName: `${file.id}.${extensions[file.mimeType] ?? 'bin'}`,
    stream(range?: ByteRange): Readable {
      const out = new PassThrough();
      const source = files.open(file.storageKey, range);
      source.then((bytes) => pipeline(bytes, out)).catch((error: Error) => out.destroy(error));
      return out;
    },
  };
}
