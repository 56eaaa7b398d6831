import { randomBytes } from 'node:crypto';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import type { z } from 'zod';

/** Writes a JSON file atomically, readable by its owner only. */
export function writePrivate(path: string, value: unknown): void {
  const draft = `${path}.${process.pid}-${randomBytes(4).toString('hex')}`;
  writeFileSync(draft, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600 });
  renameSync(draft, path);
}

/** The text of a file. Null if it is missing or not readable. */
export function readTextFile(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}

/** The content of a JSON file. Null if it is not readable or does not have this shape. */
export const readJsonFile = <T>(shape: z.ZodType<T>, path: string): T | null =>
  parseJson(shape, readTextFile(path) ?? '');

/** JSON text of this shape, else null. */
export function parseJson<T>(shape: z.ZodType<T>, text: string): T | null {
  try {
    return shape.parse(JSON.parse(text));
  } catch {
    return null;
  }
}
