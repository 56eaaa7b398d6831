import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import { SourceError, type SourceDatabase } from './source-database.ts';

/**
 * Opens the database of another program for reading: a SQLite file, a dump (`.sql`, also with gzip), or a MySQL or PostgreSQL address. A
 * MySQL address may be in the form of Go (`user:password@tcp(host:3306)/db`), as one-api and new-api have it. Throws `SourceError`.
 */
export async function openSource(from: string): Promise<SourceDatabase> {
  if (/^postgres(ql)?:\/\//.test(from)) return (await import('./postgres-source.ts')).openPostgresSource(from);
  if (/^(mysql|mariadb):\/\//.test(from) || goAddress.test(from))
    return (await import('./mysql-source.ts')).openMysqlSource(mysqlUrl(from));
  const form = formOf(from);
  if (form === 'sqlite') return (await import('./sqlite-source.ts')).openSqliteSource(from);
  return (await import('./dump-source.ts')).openDumpSource(from, form === 'gzip');
}

const goAddress = /^([^:@/]*)(?::(.*))?@(?:tcp)?\(([^)]+)\)\/([^?]*)(\?.*)?/;

function mysqlUrl(from: string): string {
  const [, user = '', password = '', host = '', database = '', parameters = ''] = goAddress.exec(from) ?? [];
  if (host === '') return from.replace(/^mariadb:/, 'mysql:');
  return `mysql://${encodeURIComponent(user)}:${encodeURIComponent(password)}@${host}/${database}${parameters}`;
}

function formOf(path: string): 'sqlite' | 'gzip' | 'text' {
  const head = headOf(path);
  if (head.subarray(0, 16).toString('latin1') === 'SQLite format 3\0') return 'sqlite';
  if (head[0] === 0x1f && head[1] === 0x8b) return 'gzip';
  const name = basename(path);
  if (head.subarray(0, 5).toString('latin1') === 'PGDMP')
    throw new SourceError(`${name} is an archive of pg_dump. Write a plain dump: pg_restore -f dump.sql ${name}.`);
  if (head.length === 0) throw new SourceError(`${name} is empty.`);
  if (head.includes(0))
    throw new SourceError(`${name} is neither a SQLite database nor a dump in SQL. It may be damaged or cut off.`);
  return 'text';
}

function headOf(path: string): Buffer {
  try {
    if (!statSync(path).isFile()) throw new SourceError(`${path} is not a file.`);
    const file = openSync(path, 'r');
    try {
      const head = Buffer.alloc(1_024);
      return head.subarray(0, readSync(file, head, 0, head.length, 0));
    } finally {
      closeSync(file);
    }
  } catch (cause) {
    if (cause instanceof SourceError) throw cause;
    throw new SourceError(`The file ${path} cannot be read.`, { cause });
  }
}
