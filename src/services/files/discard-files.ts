import { removeFile, type FileDraft } from '../../db/files/files.ts';
import type { Deps } from '../../deps.ts';

/**
 * Deletes files that no task will refer to. The row is deleted after the bytes, so that retention still finds the bytes if
 * something fails in between. Never throws.
 */
export async function discardFiles(
  { db, files, logger }: Pick<Deps, 'db' | 'files' | 'logger'>,
  unwanted: readonly FileDraft[],
): Promise<void> {
  for (const { id, storageKey } of unwanted) {
    try {
      await files.delete(storageKey);
      await removeFile(db, id);
    } catch (error) {
      logger.warn({ err: error, file_id: id }, 'an unused file could not be deleted and stays until retention');
    }
  }
}
