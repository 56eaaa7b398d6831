import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { readDump } from './read-dump.ts';
import { SourceError, type SourceDatabase } from './source-database.ts';

/** More would not fit into one text of JavaScript. */
const dumpBytesMax = 500_000_000;

/** Reads a dump in SQL of mysqldump, pg_dump or SQLite's `.dump`. Throws `SourceError` for one that is cut off. */
export function openDumpSource(path: string, isGzip: boolean): SourceDatabase {
  const name = `dump ${basename(path)}`;
  const tables = readDump(textOf(path, name, isGzip), name);
  return {
    name,
    tables: () => Promise.resolve(new Map([...tables].map(([table, { columns }]) => [table, new Set(columns)]))),
    rows: (table, columns) =>
      Promise.resolve(
        (tables.get(table)?.rows ?? []).map((row) =>
          Object.fromEntries(columns.map((column) => [column, row[column] ?? null])),
        ),
      ),
    count: (table) => Promise.resolve(tables.get(table)?.rows.length ?? 0),
    close: () => Promise.resolve(),
  };
}

function textOf(path: string, name: string, isGzip: boolean): string {
  try {
    const bytes = readFileSync(path);
    return (isGzip ? gunzipSync(bytes, { maxOutputLength: dumpBytesMax }) : bytes).toString('utf8');
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new SourceError(`The ${name} cannot be read, it may be cut off: ${reason}.`, { cause });
  }
}
