import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import pg from 'pg';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';

/** Creates a database with what a plain dump of `pg_dump` has, without owners and foreign keys. */
export async function loadPostgres(dump: string): Promise<TestDatabase> {
  const database = await createTestDatabase({ migrated: false });
  const bytes = readFileSync(dump);
  const text = (dump.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('utf8');
  await runSql(database.url, statementsOf(text));
  return database;
}

/** Runs statements, each of which may be several, one after the other on one connection. */
export async function runSql(url: string, statements: readonly string[]): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
}

/** The statements of a plain dump. What `copy` reads becomes `insert`. */
function statementsOf(text: string): string[] {
  const rows: string[] = [];
  const rest = text
    .replace(/^\\\S+.*$/gm, '')
    .replace(
      /^COPY (\S+) \((.*)\) FROM stdin;\n((?:.*\n)*?)(?:\\\.)?\n/gm,
      (_whole, table: string, columns: string, lines: string) => {
        for (const line of lines.split('\n').filter(Boolean)) {
          const values = line
            .split('\t')
            .map((value) => (value === '\\N' ? 'null' : `'${value.replaceAll('\\n', '\n').replaceAll("'", "''")}'`));
          rows.push(`insert into ${table} (${columns}) values (${values.join(', ')})`);
        }
        return '';
      },
    );
  const schema = rest.replace(/^(SET|SELECT|ALTER TABLE .* OWNER).*$/gm, '');
  return [schema.replace(/ALTER TABLE ONLY [^;]*FOREIGN KEY[^;]*;/g, ''), ...rows];
}
