import { findFile } from '../../db/files.ts';
import type { Deps } from '../../deps.ts';
import type { TaskOutput } from '../../domain/task.ts';

export type ReadOutput = { mimeType: string } & ({ bytes: Buffer } | { url: string });

/**
 * A task's stored results in order: their bytes while they fit into `bytesMax` together and `mayHold` grants the memory for
 * them, else their signed URLs. Null when one of them has expired or is gone.
 */
export async function readOutputs(
  { db, files, urls }: Pick<Deps, 'db' | 'files' | 'urls'>,
  outputs: readonly TaskOutput[],
  { bytesMax, mayHold }: { bytesMax: number; mayHold: (bytes: number) => boolean },
): Promise<ReadOutput[] | null> {
  const read: ReadOutput[] = [];
  let bytesLeft = bytesMax;
  for (const output of outputs) {
    const file = await findFile(db, output.file_id);
    if (!file || !(await files.exists(file.storageKey))) return null;
    if (file.bytes > bytesLeft || !mayHold(file.bytes)) {
      read.push({ mimeType: file.mimeType, url: urls.sign(output.file_id, output.expires_at) });
      continue;
    }
    bytesLeft -= file.bytes;
    const chunks: Uint8Array[] = [];
    for await (const chunk of await files.open(file.storageKey)) chunks.push(Buffer.from(chunk as Uint8Array));
    read.push({ mimeType: file.mimeType, bytes: Buffer.concat(chunks) });
  }
  return read;
}
