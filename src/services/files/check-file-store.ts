import { within } from '../../platform/pause.ts';
import type { FileStore } from '../../platform/files/file-store.ts';

/** The free bytes of the disk, if it and the bucket answer within `ms`; else null. */
export async function checkFileStore(
  files: Pick<FileStore, 'freeBytes' | 'exists'>,
  ms: number,
): Promise<number | null> {
  const answer = await within(ms, Promise.all([files.freeBytes(), files.exists('probe')])).catch(() => undefined);
  return answer?.[0] ?? null;
}
