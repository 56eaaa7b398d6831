import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { projectFolder } from '../support/program.ts';
import { testServer } from '../support/test-server.ts';

/** The roles and databases of deploy/postgres-roles.sql, under names of their own in the server of the tests. */
export interface OwnRoles {
  /** As the role of API servers, workers and the command line. */
  url: string;
  /** As the role that migrates. */
  ownerUrl: string;
  role: string;
  databaseName: string;
  /** A statement with the names of these roles and databases instead of those of the script. */
  own(text: string): string;
  /** Runs a statement on a connection of its own, and returns its rows. */
  asRuntime(text: string): Promise<Record<string, unknown>[]>;
  asOwner(text: string): Promise<Record<string, unknown>[]>;
  asSuperuser(text: string): Promise<Record<string, unknown>[]>;
  drop(): Promise<void>;
}

/** Runs deploy/postgres-roles.sql as psql would. `secrets` has the variables that it reads. */
export async function createRolesAndDatabases(secrets: Record<string, string>): Promise<OwnRoles> {
  const suffix = randomBytes(4).toString('hex');
  const own = (text: string) =>
    text.replace(/\b(tollgate|tollgate_owner|temporal|temporal_visibility)\b/g, `$1_${suffix}`);
  const script = readFileSync(join(projectFolder, 'deploy/postgres-roles.sql'), 'utf8').replace(/^--.*$/gm, '');
  const variables = Object.fromEntries(
    [...script.matchAll(/^\\getenv (\w+) (\w+)$/gm)].map(([, name = '', from = '']) => [name, secrets[from] ?? '']),
  );
  const statements = own(script.replace(/^\\.*$/gm, ''))
    .replace(/:'(\w+)'/g, (_, name: string) => `'${variables[name] ?? ''}'`)
    .split(';')
    .map((statement) => statement.trim())
    .filter(Boolean);
  const server = testServer('TEST_DATABASE_URL');
  const urlOf = (role: string | null, secret = ''): string => {
    const url = new URL(server);
    url.pathname = `/${own('tollgate')}`;
    if (role !== null) [url.username, url.password] = [own(role), secrets[secret] ?? ''];
    return url.href;
  };
  await onServer(server, statements);
  const [url, ownerUrl] = [
    urlOf('tollgate', 'TOLLGATE_DB_PASSWORD'),
    urlOf('tollgate_owner', 'TOLLGATE_OWNER_DB_PASSWORD'),
  ];
  return {
    url,
    ownerUrl,
    role: own('tollgate'),
    databaseName: own('tollgate'),
    own,
    asRuntime: (text) => onServer(url, [text]),
    asOwner: (text) => onServer(ownerUrl, [text]),
    asSuperuser: (text) => onServer(urlOf(null), [text]),
    drop: async () => {
      await onServer(server, [
        ...['tollgate', 'temporal', 'temporal_visibility'].map(
          (name) => `drop database if exists ${own(name)} with (force)`,
        ),
        ...['tollgate', 'tollgate_owner', 'temporal'].map((name) => `drop role if exists ${own(name)}`),
      ]);
    },
  };
}

/** Returns the rows of the last statement. */
async function onServer(connectionString: string, statements: readonly string[]): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString, connectionTimeoutMillis: 120_000, query_timeout: 120_000 });
  await client.connect();
  try {
    let rows: Record<string, unknown>[] = [];
    for (const statement of statements) ({ rows } = await client.query<Record<string, unknown>>(statement));
    return rows;
  } finally {
    await client.end();
  }
}
