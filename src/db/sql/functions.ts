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
  /** A trigger function is created before the tables, because triggers refer to it. Other functions refer to tables. */
  isTrigger: boolean;
}

/**
 * The SQL functions that this release calls, one file each. `migrate` applies every changed file. A function whose parameters or
 * columns change gets a new name, because the previous release still calls the old one during a rollout.
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
