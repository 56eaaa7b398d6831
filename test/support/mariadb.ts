import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { createConnection } from 'mysql2/promise';
import { unprivileged } from '../../packages/dev-stack/src/servers/postgres-account.ts';
import { launch, untilReady } from '../../packages/dev-stack/src/processes/launch.ts';
import { startGuardian } from '../../packages/dev-stack/src/processes/start-guardian.ts';
import { chooseOwnPort } from './own-port.ts';

export interface Mariadb {
  /** The address of a database, for its user `import`, who may only read and must use TLS, or another user. */
  url(database: string, user?: string): string;
  /** Creates a database with the statements of a dump. */
  load(database: string, dump: string): Promise<void>;
  /** Runs statements in a database, as its administrator would. */
  run(database: string, statements: string): Promise<void>;
  close(): Promise<void>;
}

interface Programs {
  server: string;
  installer: string;
  version: string;
}

/** MariaDB's server of `MARIADBD`, else that of the PATH, with the program that makes a data folder; null if there is none. */
export function findMariadb(): Programs | null {
  const path = (process.env['PATH'] ?? '').split(delimiter);
  const find = (name: string, folders: readonly string[]) =>
    folders.map((folder) => join(folder, name)).find((file) => existsSync(file));
  const server = process.env['MARIADBD'] || find('mariadbd', [...path, '/usr/sbin', '/usr/local/sbin']);
  if (server === undefined) return null;
  const near = ['.', '../bin', '../scripts'].map((folder) => join(dirname(server), folder));
  const installer = find('mariadb-install-db', [...near, ...path, '/usr/bin']);
  const [version] = /\d+\.\d+\.\d+/.exec(spawnSync(server, ['--version'], { encoding: 'utf8' }).stdout ?? '') ?? [];
  return installer === undefined || version === undefined ? null : { server, installer, version };
}

/** Starts MariaDB in a folder of its own, as an unprivileged user, with TLS by a certificate that no authority signed. */
export async function startMariadb({ server, installer }: Programs): Promise<Mariadb> {
  const guardian = startGuardian();
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-mariadb-'));
  guardian.removeFolder(folder);
  const account = unprivileged(folder);
  const data = join(folder, 'data');
  mkdirSync(data);
  for (const each of [folder, data]) {
    chmodSync(each, 0o755);
    if (account.uid !== undefined && account.gid !== undefined) chownSync(each, account.uid, account.gid);
  }
  const run = (program: string, args: readonly string[]) => {
    const { command, args: all } = account.wrap(program, args);
    const { status, stdout, stderr } = spawnSync(command, all, { encoding: 'utf8', cwd: folder });
    if (status !== 0) throw new Error(`${program} failed: ${stderr || stdout}`);
  };
  const certificates = join(import.meta.dirname, 'certificates');
  run(installer, ['--no-defaults', `--datadir=${data}`, '--auth-root-authentication-method=normal', '--skip-test-db']);
  const port = await chooseOwnPort();
  const process_ = await launch({
    ...account.wrap(server, [
      '--no-defaults',
      `--datadir=${data}`,
      `--socket=${join(folder, 'socket')}`,
      `--port=${port}`,
      '--bind-address=127.0.0.1',
      '--innodb-flush-log-at-trx-commit=0',
      '--skip-name-resolve',
      `--ssl-cert=${join(certificates, 'localhost.pem')}`,
      `--ssl-key=${join(certificates, 'localhost-key.pem')}`,
    ]),
    env: { PATH: process.env['PATH'] },
    logFile: join(folder, 'mariadb.log'),
    stopSignal: 'SIGTERM',
    graceSeconds: 10,
    guardian,
  });
  const asRoot = async (statements: string): Promise<void> => {
    const connection = await createConnection({ host: '127.0.0.1', port, user: 'root', multipleStatements: true });
    await connection.query(statements).finally(() => connection.end());
  };
  const refusal = await untilReady(process_, Date.now() + 120_000, () =>
    asRoot(
      `create user import@'127.0.0.1' identified by '${password}' require ssl; grant select on *.* to import@'127.0.0.1'`,
    ),
  );
  if (refusal !== null) throw new Error(`MariaDB did not start: ${refusal}`);
  return {
    url: (database, user = `import:${encodeURIComponent(password)}`) =>
      `mysql://${user}@127.0.0.1:${port}/${database}?tls=skip-verify`,
    load: (database, dump) =>
      asRoot(`create database \`${database}\` character set utf8mb4; use \`${database}\`; ${dump}`),
    run: (database, statements) => asRoot(`use \`${database}\`; ${statements}`),
    close: () => guardian.close(),
  };
}

/** With signs that an address must encode. */
export const password = 'p@ss/w:rd#?%';
