/** A value of a row of another program: integers beyond the safe range are bigint, JSON columns stay text or are parsed. */
export type SourceValue = string | number | bigint | boolean | null | object;

export type SourceRow = Readonly<Record<string, SourceValue>>;

/** The database of another program. It is only read, in one snapshot where the server has snapshots. */
export interface SourceDatabase {
  /** The name in messages, such as `SQLite file one-api.db`. It has no password. */
  name: string;
  /** The columns of every table, by the table's name. */
  tables(): Promise<ReadonlyMap<string, ReadonlySet<string>>>;
  /** All rows of a table with these of its columns. The table has one of them at least; one that it lacks is missing or null. */
  rows(table: string, columns: readonly string[]): Promise<SourceRow[]>;
  count(table: string): Promise<number>;
  close(): Promise<void>;
}

/** The source cannot be imported. The message is a sentence that names the source and the reason. */
export class SourceError extends Error {}

/**
 * Returns a reader of the columns of each table, which asks the server once: an import reads in one transaction, in which they stay the same.
 */
export function columnsByTable(
  read: () => Promise<readonly (readonly [table: string, column: string])[]>,
): () => Promise<Map<string, Set<string>>> {
  let tables: Promise<Map<string, Set<string>>> | undefined;
  const readTables = async (): Promise<Map<string, Set<string>>> => {
    const found = new Map<string, Set<string>>();
    for (const [table, column] of await read()) found.set(table, (found.get(table) ?? new Set()).add(column));
    return found;
  };
  return () => (tables ??= readTables());
}
