import pg from 'pg';
import { readSourceAddress } from './source-address.ts';
import { columnsByTable, SourceError, type SourceDatabase, type SourceRow } from './source-database.ts';

const int8 = 20;
/** Times are kept as text: a `timestamp` has no zone, and pg would read it in that of this machine. */
const times: readonly number[] = [1114, 1184];

/** Connects to a PostgreSQL server, and reads in one transaction that cannot write. */
export async function openPostgresSource(url: string): Promise<SourceDatabase> {
  const { name } = readSourceAddress('PostgreSQL', url);
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: 15_000,
    types: {
      getTypeParser: (oid: number, format?: string) =>
        oid === int8
          ? toInteger
          : times.includes(oid)
            ? (text: string) => text
            : (pg.types.getTypeParser(oid, format as 'text') as (text: string) => unknown),
    },
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.query('begin transaction isolation level repeatable read read only');
  } catch (cause) {
    await client.end().catch(() => undefined);
    throw new SourceError(`The ${name} cannot be opened: ${cause instanceof Error ? cause.message : 'no reason'}.`, {
      cause,
    });
  }
  const tables = columnsByTable(async () => {
    const { rows } = await client.query<{ table_name: string; column_name: string }>(
      `select table_name, column_name from information_schema.columns where table_schema = any (current_schemas(false))`,
    );
    return rows.map(({ table_name: table, column_name: column }) => [table, column]);
  });
  return {
    name,
    tables,
    async rows(table, columns) {
      const has = (await tables()).get(table) ?? new Set();
      const list = columns.filter((column) => has.has(column)).map((column) => client.escapeIdentifier(column));
      const { rows } = await client.query<SourceRow>(
        `select ${list.join(', ')} from ${client.escapeIdentifier(table)}`,
      );
      return rows;
    },
    async count(table) {
      const { rows } = await client.query<{ rows: number }>(
        `select count(*) as rows from ${client.escapeIdentifier(table)}`,
      );
      return Number(rows[0]?.rows ?? 0);
    },
    close: () => client.end(),
  };
}

const toInteger = (text: string): number | bigint => (Number.isSafeInteger(Number(text)) ? Number(text) : BigInt(text));
