import { findUnknownKeys } from '../../db/files/files.ts';
import type { Deps } from '../../deps.ts';
import { isFileKey } from '../../platform/files/file-store.ts';
import { pause } from '../../platform/pause.ts';

type FileDeps = Pick<Deps, 'db' | 'files'>;

/** Keys that one statement looks up. */
const batchMax = 500;
/** The row of an upload is written after its bytes, within this time. All other rows are written before. */
const uploadSettlesMs = 3_000;

/** The keys of stored files that no row knows, in their order: a database that was restored lacks the rows of the files written since then. */
export async function listUnknownFiles({ db, files }: FileDeps): Promise<string[]> {
  const unknown: string[] = [];
  let batch: string[] = [];
  const findInBatch = async () => {
    if (batch.length > 0) unknown.push(...(await findUnknownKeys(db, batch)));
    batch = [];
  };
  for await (const key of files.keys()) {
    batch.push(key);
    if (batch.length === batchMax) await findInBatch();
  }
  await findInBatch();
  return unknown.sort();
}

/** Deletes those of the files that still no row knows, and whose keys Tollgate may have made. Returns their keys. */
export async function deleteUnknownFiles({ db, files }: FileDeps, keys: readonly string[]): Promise<string[]> {
  if (keys.length === 0) return [];
  await pause(uploadSettlesMs);
  const deleted: string[] = [];
  for (let from = 0; from < keys.length; from += batchMax) {
    const batch = keys.slice(from, from + batchMax).filter(isFileKey);
    for (const key of await findUnknownKeys(db, batch)) {
      await files.delete(key);
      deleted.push(key);
    }
  }
  return deleted;
}
