import { SourceError, type SourceDatabase } from '../../db/imports/source-database.ts';

/**
 * The columns of each table of a source. Throws `SourceError` that names every needed table and column that it lacks: it is of another
 * program or version, or only part of a database.
 */
export async function demandTables(
  source: SourceDatabase,
  program: string,
  needed: Readonly<Record<string, readonly string[]>>,
): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const tables = await source.tables();
  const missing = Object.entries(needed).flatMap(([table, columns]) => {
    const has = tables.get(table);
    if (!has) return [`the table ${table}`];
    return columns.filter((column) => !has.has(column)).map((column) => `the column ${table}.${column}`);
  });
  if (missing.length === 0) return tables;
  throw new SourceError(
    `The ${source.name} lacks ${missing.join(', ')}. It is of another version than ${program} import knows, of another program, or incomplete.`,
  );
}
