import { createConnection, type Connection, type RowDataPacket } from 'mysql2/promise';
import { readSourceAddress } from './source-address.ts';
import { columnsByTable, SourceError, type SourceDatabase, type SourceRow } from './source-database.ts';

/** Connects to a MySQL or MariaDB server, and reads in one transaction that cannot write. Throws `SourceError`. */
export async function openMysqlSource(text: string): Promise<SourceDatabase> {
  const { url, name } = readSourceAddress('MySQL', text);
  const connection = await connected(url, name);
  const query = async (statement: string): Promise<RowDataPacket[]> =>
    (await connection.query<RowDataPacket[]>(statement))[0];
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
      const list = columns.filter((column) => has.has(column)).map(sqlName);
      return (await query(`select ${list.join(', ')} from ${sqlName(table)}`)).map(toRow);
    },
    count: async (table) => Number((await query(`select count(*) as n from ${sqlName(table)}`))[0]?.['n'] ?? 0),
    close: () => connection.end(),
  };
}

async function connected(url: URL, name: string): Promise<Connection> {
  const ssl = tlsOf(url.searchParams);
  let connection: Connection | undefined;
  try {
    connection = await createConnection({
      host: url.hostname.replace(/^\[|\]$/g, ''),
      port: Number(url.port || 3_306),
      user: decodeURIComponent(url.username),
      password: decodeURIComponent(url.password),
      database: decodeURIComponent(url.pathname.slice(1)),
      ...(ssl && { ssl }),
      connectTimeout: 15_000,
      supportBigNumbers: true,
      dateStrings: true,
    });
    await connection.query('start transaction with consistent snapshot, read only');
    return connection;
  } catch (cause) {
    connection?.destroy();
    const reason = cause instanceof Error ? cause.message : 'no reason';
    throw new SourceError(`The ${name} cannot be opened: ${reason}.`, { cause });
  }
}

/** `tls` as the programs have it in their address (Go), or `ssl-mode` as the clients of MySQL. */
function tlsOf(parameters: URLSearchParams): { rejectUnauthorized: boolean } | null {
  const written = parameters.get('tls') ?? parameters.get('ssl-mode') ?? '';
  const mode = written.toLowerCase().replaceAll('_', '-');
  if (['', 'false', 'disabled'].includes(mode)) return null;
  if (['true', 'verify-ca', 'verify-identity'].includes(mode)) return { rejectUnauthorized: true };
  if (['skip-verify', 'preferred', 'required'].includes(mode)) return { rejectUnauthorized: false };
  throw new SourceError(`The MySQL address of --from has tls=${written}: it must be true, skip-verify or false.`);
}

const sqlName = (name: string): string => `\`${name.replaceAll('`', '``')}\``;

/** Integers beyond the safe range arrive as text with all their digits. */
const toRow = (row: RowDataPacket): SourceRow =>
  Object.fromEntries(
    Object.entries(row).map(([column, value]: [string, unknown]) => [
      column,
      Buffer.isBuffer(value) ? value.toString('utf8') : (value as SourceRow[string]),
    ]),
  );
