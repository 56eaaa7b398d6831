import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import packageJson from '../../../package.json' with { type: 'json' };
import { openDatabase } from '../../../src/db/database.ts';
import { migrate } from '../../../src/db/migrate.ts';
import { startPostgres } from '../../../packages/dev-stack/src/servers/postgres.ts';
import { dumpDatabase, dumpSchema } from '../../support/dump-schema.ts';
import { sentStatements } from '../statements/read-statements.ts';
import { fillEveryTable } from './fill-every-table.ts';

/**
 * Writes the schema that `migrate` creates in an empty database to `schema.sql`. With `--release`, at the end of a release, it also writes a dump
 * with rows in every table to `<version>.sql`, from which the next release's tests upgrade, the secrets in it to `<version>.json`, and the statements that
 * this release sends to `<version>.statements.json.gz`, which the next release's schema must accept.
 */
const folder = mkdtempSync(join(tmpdir(), 'tollgate-dump-'));
const server = await startPostgres({ dir: join(folder, 'postgres'), port: 0, password: 'dump' });
const database = openDatabase({
  url: server.url,
  poolMax: 1,
  connectTimeoutMs: 10_000,
  statementTimeoutMs: 60_000,
});
try {
  await migrate(database);
  writeFileSync(new URL('./schema.sql', import.meta.url), await dumpSchema(database));
  if (process.argv.includes('--release')) {
    const sent = new URL(`./${packageJson.version}.statements.json.gz`, import.meta.url);
    writeFileSync(sent, gzipSync(JSON.stringify(sentStatements())));
    const secrets = await fillEveryTable(server.url);
    writeFileSync(new URL(`./${packageJson.version}.sql`, import.meta.url), await dumpDatabase(database));
    writeFileSync(new URL(`./${packageJson.version}.json`, import.meta.url), `${JSON.stringify(secrets, null, 2)}\n`);
  }
} finally {
  await database.close();
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
}
