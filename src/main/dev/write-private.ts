import { randomBytes } from 'node:crypto';
import { renameSync, writeFileSync } from 'node:fs';

/** Writes a JSON file atomically, readable by its owner only. */
export function writePrivate(path: string, value: unknown): void {
  const draft = `${path}.${process.pid}-${randomBytes(4).toString('hex')}`;
  writeFileSync(draft, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600 });
  renameSync(draft, path);
}
