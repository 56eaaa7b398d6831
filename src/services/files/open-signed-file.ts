import { PassThrough, type Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { LRUCache } from 'lru-cache';
import { findFile } from '../../db/files/files.ts';
import type { Deps } from '../../deps.ts';
import type { ByteRange } from '../../platform/files/file-store.ts';

const extensions: Record<string, string> = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/webp': 'webp',
  'image/gif': 'gif',
  'image/avif': 'avif',
  'image/heic': 'heic',
  'image/heif': 'heif',
  'video/mp4': 'mp4',
  'video/webm': 'webm',
  'video/quicktime': 'mov',
  'video/x-matroska': 'mkv',
  'audio/mpeg': 'mp3',
  'audio/wav': 'wav',
};

type SignedFileDeps = Pick<Deps, 'db' | 'files' | 'urls'>;

/** The files of signed URLs. Both answer null if the signature is wrong or has expired, or the file is missing. */
export function createSignedFiles(deps: SignedFileDeps) {
  const owners = new LRUCache<string, Promise<string | null>>({ max: REMEMBERED_MAX });
  const verified = new LRUCache<string, true>({ max: REMEMBERED_MAX });
  /** A URL may have thousands of readers at the same time, so its signature is computed once. */
  const isSigned = (fileId: string, expires: number, signature: string): boolean => {
    const now = Date.now() / 1000;
    const url = `${fileId} ${expires} ${signature}`;
    if (verified.get(url)) return now < expires;
    if (!deps.urls.verify(fileId, String(expires), signature, now)) return false;
    verified.set(url, true);
    return true;
  };
  return {
    /** The project of the file. It never changes, so many readers of one file cost the database one statement. */
    async ownerOf(fileId: string, expires: number, signature: string): Promise<string | null> {
      if (!isSigned(fileId, expires, signature)) return null;
      const cached = owners.get(fileId);
      if (cached) return cached;
      const lookup = findFile(deps.db, fileId).then((file) => file?.projectId ?? null);
      owners.set(fileId, lookup);
      const forget = () => owners.delete(fileId);
      lookup.then((owner) => owner ?? forget(), forget);
      return lookup;
    },
    /** The file, whose bytes are opened only when they are wanted. */
    async openSigned(fileId: string, expires: number, signature: string) {
      return isSigned(fileId, expires, signature) ? openStoredFile(deps, fileId) : null;
    },
  };
}

const REMEMBERED_MAX = 10_000;

/** A stored file, whose bytes are opened only when they are wanted, or null if it is missing. */
export async function openStoredFile({ db, files }: Pick<Deps, 'db' | 'files'>, fileId: string) {
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
