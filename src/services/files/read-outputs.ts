import { buffer } from 'node:stream/consumers';
import type { TaskOutput } from '../../domain/tasks/task-view.ts';
import { findFile } from '../../db/files/files.ts';
import type { Deps } from '../../deps.ts';

/**
 * A task's stored results in order. A result that still fits into `bytesMax`, and whose memory `mayHold` grants, is returned as
 * bytes, any other as a signed URL. Null if a file has expired or is missing.
 */
export async function readOutputs(
  { db, files, urls }: Pick<Deps, 'db' | 'files' | 'urls'>,
  outputs: readonly TaskOutput[],
  { bytesMax, mayHold }: { bytesMax: number; mayHold: (bytes: number) => boolean },
) {
  const read: ({ mimeType: string } & ({ bytes: Buffer } | { url: string }))[] = [];
  let bytesLeft = bytesMax;
  for (const output of outputs) {
    const file = await findFile(db, output.file_id);
    if (!file || !(await files.exists(file.storageKey))) return null;
    if (file.bytes > bytesLeft || !mayHold(file.bytes)) {
      read.push({ mimeType: file.mimeType, url: urls.sign(output.file_id, output.expires_at) });
      continue;
    }
    bytesLeft -= file.bytes;
    read.push({ mimeType: file.mimeType, bytes: await buffer(await files.open(file.storageKey)) });
  }
  return read;
}
