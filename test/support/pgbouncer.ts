import { chmodSync, mkdtempSync, writeFileSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { unprivileged } from '../../packages/dev-stack/src/servers/postgres-account.ts';
import { launch, untilReady } from '../../packages/dev-stack/src/processes/launch.ts';
import { startGuardian } from '../../packages/dev-stack/src/processes/start-guardian.ts';
import { chooseOwnPort } from './own-port.ts';
import pg from 'pg';

export interface Bouncer {
  /** The same URL, through PgBouncer. */
  through(url: string): string;
  close(): Promise<void>;
}

/** The program of `PGBOUNCER`, else that of the PATH, with its version such as 1.24. Throws if there is none. */
export function findPgBouncer(): { program: string; version: number } {
  const program = process.env['PGBOUNCER'] ?? 'pgbouncer';
  const { stdout } = spawnSync(program, ['-V'], { encoding: 'utf8' });
  const [, version] = /PgBouncer (\d+\.\d+)/.exec(stdout ?? '') ?? [];
  if (version === undefined)
    throw new Error('There is no PgBouncer. Install it (apt install pgbouncer), or name its program in PGBOUNCER.');
  return { program, version: Number(version) };
}

/** Starts PgBouncer before the server of `url`, for its role and those of `others`. */
export async function startPgBouncer(
  url: string,
  settings: Record<string, string>,
  others: readonly string[] = [],
): Promise<Bouncer> {
  const { hostname, port } = new URL(url);
  const guardian = startGuardian();
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-pgbouncer-'));
  guardian.removeFolder(folder);
  chmodSync(folder, 0o755);
  const listenPort = await chooseOwnPort();
  const users = join(folder, 'users.txt');
  const roles = [url, ...others].map((one) => new URL(one));
  const quoted = ({ username, password }: URL) => [username, password].map((text) => `"${decodeURIComponent(text)}"`);
  writeFileSync(users, roles.map((role) => `${quoted(role).join(' ')}\n`).join(''));
  const file = join(folder, 'pgbouncer.ini');
  const lines = {
    listen_addr: '127.0.0.1',
    listen_port: listenPort,
    auth_type: 'plain',
    auth_file: users,
    unix_socket_dir: '',
    ...settings,
  };
  const pairs = Object.entries(lines).map(([name, value]) => `${name} = ${value}`);
  writeFileSync(file, ['[databases]', `* = host=${hostname} port=${port}`, '[pgbouncer]', ...pairs, ''].join('\n'));
  const through = (direct: string): string => {
    const own = new URL(direct);
    own.host = `127.0.0.1:${listenPort}`;
    return own.href;
  };
  const process_ = await launch({
    ...unprivileged(folder).wrap(findPgBouncer().program, [file]),
    env: { PATH: process.env['PATH'] },
    logFile: join(folder, 'pgbouncer.log'),
    stopSignal: 'SIGINT',
    graceSeconds: 2,
    guardian,
  });
  const refusal = await untilReady(process_, Date.now() + 60_000, async () => {
    const client = new pg.Client({ connectionString: through(url) });
    client.on('error', () => undefined);
    await client.connect();
    await client.query('select 1').finally(() => client.end());
  });
  if (refusal !== null) throw new Error(`PgBouncer did not start: ${refusal}\n${process_.logTail()}`);
  return { through, close: () => guardian.close() };
}
