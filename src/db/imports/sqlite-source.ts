import { basename } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { SourceError, type SourceDatabase, type SourceRow } from './source-database.ts';

/** Opens a SQLite file read-only, and checks that it is whole. */
export function openSqliteSource(path: string): SourceDatabase {
  const name = `SQLite file ${basename(path)}`;
  const database = opened(path, name);
  return {
    name,
    tables: () =>
      Promise.resolve(
        new Map(
          database
            .prepare(`select name from sqlite_schema where type = 'table'`)
            .all()
            .map(({ name: table }) => [String(table), columnsOf(database, String(table))]),
        ),
      ),
    rows(table, columns) {
      const has = columnsOf(database, table);
      const statement = database.prepare(
        `select ${columns
          .filter((column) => has.has(column))
          .map(sqlName)
          .join(', ')} from ${sqlName(table)}`,
      );
      statement.setReadBigInts(true);
      return Promise.resolve(statement.all().map(toRow));
    },
    count: (table) =>
      Promise.resolve(Number(database.prepare(`select count(*) as rows from ${sqlName(table)}`).get()?.['rows'] ?? 0)),
    close() {
      database.close();
      return Promise.resolve();
    },
  };
}

function opened(path: string, name: string): DatabaseSync {
  try {
    const database = new DatabaseSync(path, { readOnly: true });
    const [first] = database.prepare('pragma quick_check(1)').all();
    if (first?.['quick_check'] === 'ok') return database;
    database.close();
    throw new SourceError(`The ${name} is damaged or cut off: ${String(first?.['quick_check'])}.`);
  } catch (cause) {
    if (cause instanceof SourceError) throw cause;
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new SourceError(`The ${name} cannot be read, it may be damaged or cut off: ${reason}.`, { cause });
  }
}

const columnsOf = (database: DatabaseSync, table: string): Set<string> =>
  new Set(
    database
      .prepare('select name from pragma_table_info(?)')
      .all(table)
      .map(({ name }) => String(name)),
  );

const sqlName = (name: string): string => `"${name.replaceAll('"', '""')}"`;

/** Integers are read as bigint, so that none loses digits. */
const toRow = (row: Record<string, unknown>): SourceRow =>
  Object.fromEntries(
    Object.entries(row).map(([column, value]) => [
      column,
      typeof value === 'bigint' && value >= Number.MIN_SAFE_INTEGER && value <= Number.MAX_SAFE_INTEGER
        ? Number(value)
        : (value as SourceRow[string]),
    ]),
  );
