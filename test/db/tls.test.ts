import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { chmodSync, chownSync, copyFileSync, mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDatabase, type Database } from '../../src/db/database.ts';
import { migrate } from '../../src/db/migrate.ts';
import { unprivileged } from '../../packages/dev-stack/src/servers/postgres-account.ts';
import { startPostgres, type PostgresServer } from '../../packages/dev-stack/src/servers/postgres.ts';
import { startGuardian } from '../../packages/dev-stack/src/processes/start-guardian.ts';
import { projectFolder } from '../support/program.ts';

const certificates = join(projectFolder, 'test/support/certificates');
const privateCa = join(certificates, 'private-ca.pem');
/** Signed by itself, so that it has signed no other. */
const otherCa = join(projectFolder, 'test/platform/egress/fixtures/receiver-certificate.pem');
const guardian = startGuardian();

let server: PostgresServer;
const opened: Database[] = [];

beforeAll(async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-tls-'));
  guardian.removeFolder(folder);
  const { uid, gid } = unprivileged(join(folder, 'postgres'));
  for (const name of ['localhost.pem', 'localhost-key.pem']) {
    copyFileSync(join(certificates, name), join(folder, name));
    // PostgreSQL starts with no key that others may read.
    chmodSync(join(folder, name), 0o600);
    if (uid !== undefined && gid !== undefined) chownSync(join(folder, name), uid, gid);
  }
  server = await startPostgres({
    dir: join(folder, 'postgres'),
    port: 0,
    password: 'of-this-test',
    guardian,
    settings: {
      ssl: 'on',
      ssl_cert_file: join(folder, 'localhost.pem'),
      ssl_key_file: join(folder, 'localhost-key.pem'),
    },
  });
});
afterAll(async () => {
  await Promise.all(opened.map((database) => database.close()));
  await guardian.close();
});

/** The server's certificate names `localhost` only. */
function openAt(host: string, query: Record<string, string>): Database {
  const url = new URL(server.url);
  url.hostname = host;
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  const database = openDatabase({ url: url.href, poolMax: 1, connectTimeoutMs: 60_000, statementTimeoutMs: 60_000 });
  opened.push(database);
  return database;
}

/** The connections of requests, and those of migrations, which MikroORM opens by itself. */
const clients = {
  'our own pool': (database: Database, text: string) => database.query<{ ssl: boolean }>('', text),
  MikroORM: async (database: Database, text: string) =>
    (await database.orm()).orm.em.getConnection().execute<{ ssl: boolean }[]>(text),
} as const;

const isEncrypted = (client: keyof typeof clients, database: Database): Promise<string> =>
  clients[client](database, 'select ssl from pg_stat_ssl where pid = pg_backend_pid()').then(
    ([row]) => (row?.ssl ? 'encrypted' : 'plain'),
    (error: unknown) => (error instanceof Error && 'code' in error ? String(error.code) : String(error)),
  );

const wrongName = 'ERR_TLS_CERT_ALTNAME_INVALID';
const unknownCa = 'UNABLE_TO_VERIFY_LEAF_SIGNATURE';

describe.each(['our own pool', 'MikroORM'] as const)(
  'PostgreSQL over TLS, as libpq means its words, by %s',
  (client) => {
    it.each([
      ['127.0.0.1', {}, 'plain'],
      ['127.0.0.1', { sslmode: 'disable' }, 'plain'],
      ['127.0.0.1', { sslmode: 'prefer' }, 'encrypted'],
      ['127.0.0.1', { sslmode: 'require' }, 'encrypted'],
      ['127.0.0.1', { sslmode: 'require', sslrootcert: privateCa }, 'encrypted'],
      ['127.0.0.1', { sslmode: 'require', sslrootcert: otherCa }, unknownCa],
      ['127.0.0.1', { sslmode: 'verify-ca', sslrootcert: privateCa }, 'encrypted'],
      ['127.0.0.1', { sslmode: 'verify-ca', sslrootcert: otherCa }, unknownCa],
      ['localhost', { sslmode: 'verify-full', sslrootcert: privateCa }, 'encrypted'],
      ['127.0.0.1', { sslmode: 'verify-full', sslrootcert: privateCa }, wrongName],
      ['localhost', { sslmode: 'verify-full', sslrootcert: otherCa }, unknownCa],
      ['localhost', { sslmode: 'verify-full', sslrootcert: 'system' }, unknownCa],
    ] as const)('to %s with %j is %s', async (host, query, outcome) => {
      expect(await isEncrypted(client, openAt(host, { ...query }))).toBe(outcome);
    });
  },
);

describe('the driver of PostgreSQL', () => {
  it('is installed once, so that migrations and requests check certificates alike', () => {
    const lock = JSON.parse(readFileSync(join(projectFolder, 'package-lock.json'), 'utf8')) as { packages: object };
    expect(Object.keys(lock.packages).filter((path) => /(^|\/)node_modules\/pg$/.test(path))).toEqual([
      'node_modules/pg',
    ]);
  });

  it('also carries the migrations', async () => {
    const database = openAt('localhost', { sslmode: 'verify-full', sslrootcert: privateCa });
    expect((await migrate(database)).length).toBeGreaterThan(10);
    const refused = openAt('localhost', { sslmode: 'verify-full', sslrootcert: otherCa });
    await expect(migrate(refused)).rejects.toThrow();
  });
});
