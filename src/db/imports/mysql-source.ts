import { createConnection, type RowDataPacket } from 'mysql2/promise';
import { columnsByTable, SourceError, type SourceDatabase, type SourceRow } from './source-database.ts';

/** Connects to a MySQL or MariaDB server, and reads in one transaction that cannot write. */
export async function openMysqlSource(url: string): Promise<SourceDatabase> {
  const name = `MySQL database ${URL.canParse(url) ? `${new URL(url).host}${new URL(url).pathname}` : 'of --from'}`;
  const connection = await connected(url, name);
  const query = async (text: string): Promise<RowDataPacket[]> => (await connection.query<RowDataPacket[]>(text))[0];
  const tables = columnsByTable(async () => {
    const rows = await query(
      `select table_name as t, column_name as c from information_schema.columns where table_schema = database()`,
    );
    return rows.map(({ t, c }) => [String(t), String(c)]);
  });
  return {
    name,
    tables,
    async rows(table, columns) {
      const has = (await tables()).get(table) ?? new Set();
      const list = columns.filter((column) => has.has(column)).map(quoted);
      return (await query(`select ${list.join(', ')} from ${quoted(table)}`)).map(toRow);
    },
    count: async (table) => Number((await query(`select count(*) as n from ${quoted(table)}`))[0]?.['n'] ?? 0),
    close: () => connection.end(),
  };
}

async function connected(url: string, name: string) {
  try {
    const connection = await createConnection({
      uri: url,
      connectTimeout: 15_000,
      supportBigNumbers: true,
      dateStrings: true,
    });
    await connection.query('start transaction with consistent snapshot, read only');
    return connection;
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : 'no reason';
    throw new SourceError(`The ${name} cannot be opened: ${reason}.`, { cause });
  }
}

const quoted = (name: string): string => `\`${name.replaceAll('`', '``')}\``;

/** Integers beyond the safe range arrive as text with all their digits. */
const toRow = (row: RowDataPacket): SourceRow =>
  Object.fromEntries(
    Object.entries(row).map(([column, value]: [string, unknown]) => [
      column,
      Buffer.isBuffer(value) ? value.toString('utf8') : (value as SourceRow[string]),
    ]),
  );
