import { removeFile, type FileDraft } from '../../db/files.ts';
import type { Deps } from '../../deps.ts';

/** For files that nobody will name: bytes first, then the row, which leads to them until then. Never throws. */
export async function discardFiles(
  { db, files, logger }: Pick<Deps, 'db' | 'files' | 'logger'>,
  unwanted: readonly FileDraft[],
): Promise<void> {
  for (const { id, storageKey } of unwanted) {
    try {
      await files.delete(storageKey);
      await removeFile(db, id);
    } catch (error) {
      logger.warn({ err: error, file_id: id }, 'an unused file stays until retention');
    }
  }
}
