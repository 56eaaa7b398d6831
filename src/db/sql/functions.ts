import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('./functions/', import.meta.url));

export interface SqlFunction {
  name: string;
  text: string;
  /** SHA-256 of the file. */
  checksum: string;
  /** A trigger needs its function before it is created; every other function needs its tables. */
  isTrigger: boolean;
}

/**
 * The SQL functions, one a file, as this release calls them. `migrate` applies every file that changed. A function whose
 * parameters or columns change gets a new name: while a rollout is under way, the release before still calls the old one.
 */
export const sqlFunctions: readonly SqlFunction[] = readdirSync(folder)
  .sort()
  .map((file) => {
    const text = readFileSync(join(folder, file), 'utf8');
    return {
      name: basename(file, '.sql'),
      text,
      checksum: createHash('sha256').update(text).digest('hex'),
      isTrigger: / returns trigger\b/.test(text),
    };
  });
