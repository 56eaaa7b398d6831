import { spawnSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { findTemporal } from '../../scripts/find-temporal.mjs';
import { unprivileged } from '../../packages/dev-stack/src/servers/postgres-account.ts';
import { startPostgres, type PostgresServer } from '../../packages/dev-stack/src/servers/postgres.ts';
import { startTemporal, type TemporalServer } from '../../packages/dev-stack/src/servers/temporal.ts';
import { startGuardian } from '../../packages/dev-stack/src/processes/start-guardian.ts';
import { lightTemporal } from '../support/light-temporal.ts';

/** PostgreSQL with an archive of its WAL, and Temporal. Both keep their ports. */
export interface DrillServers {
  /** Copies the data of the running server, as any tool for backups does. */
  backUp(): Promise<void>;
  /** Marks the moment to which `restore` restores. Resolves once the WAL up to it is in the archive. */
  markRestorePoint(): Promise<void>;
  /** Throws the data away and starts the server from the backup and the archive, up to the mark. */
  restore(): Promise<void>;
  /** Starts Temporal again without its data. */
  wipeTemporal(): Promise<void>;
  close(): Promise<void>;
}

const restorePoint = 'drill';

/** Starts both, and sets the variables from which `startGateway` learns where they are. */
export async function startDrillServers(): Promise<DrillServers> {
  const binary = findTemporal()?.path;
  if (!binary) throw new Error('There is no Temporal server. `npm run drill` finds or installs one first.');
  const guardian = startGuardian();
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-drill-'));
  guardian.removeFolder(folder);
  const [dir, backup, archive] = [join(folder, 'postgres'), join(folder, 'backup'), join(folder, 'archive')];
  await mkdir(archive);
  const account = unprivileged(dir);
  const giveAway = (path: string) =>
    account.uid !== undefined && command('chown', ['-R', `${account.uid}:${account.gid}`, path]);
  giveAway(archive);
  const archiving = { archive_mode: 'on', archive_command: `cp %p ${archive}/%f` };
  const password = 'of-this-drill';
  let postgres: PostgresServer = await startPostgres({ dir, port: 0, password, guardian, settings: archiving });
  const launchTemporal = (ports: { port: number; uiPort: number; keepPort: boolean }): Promise<TemporalServer> =>
    startTemporal({ binary, dbFile: join(folder, 'temporal.db'), ...ports, ...lightTemporal, guardian });
  let temporal = await launchTemporal({ port: 0, uiPort: 0, keepPort: false });
  // The templates of a run of Jest are in its own server.
  for (const name of ['TEST_DATABASE_TEMPLATE', 'TEST_GATEWAY_TEMPLATE', 'TEST_RUNTIME_PASSWORD', 'TEST_POOLER_HOST'])
    delete process.env[name];
  process.env['TEST_DATABASE_URL'] = postgres.url;
  process.env['TEST_TEMPORAL_ADDRESS'] = temporal.address;
  process.env['TEST_TEMPORAL_BINARY'] = binary;

  return {
    backUp: () =>
      onServer(postgres.url, async (client) => {
        await client.query(`select pg_backup_start('drill', true)`);
        command('cp', ['-a', dir, backup]);
        const { rows } = await client.query<{ labelfile: string }>('select labelfile from pg_backup_stop()');
        await writeFile(join(backup, 'backup_label'), rows[0]?.labelfile ?? '');
        // What a backup leaves out: the WAL comes from the archive.
        for (const left of ['postmaster.pid', 'pg_wal']) await rm(join(backup, left), { recursive: true, force: true });
        await mkdir(join(backup, 'pg_wal', 'archive_status'), { recursive: true });
      }),
    markRestorePoint: () =>
      onServer(postgres.url, async (client) => {
        await client.query('select pg_create_restore_point($1)', [restorePoint]);
        const { rows } = await client.query<{ file: string }>('select pg_walfile_name(pg_switch_wal()) as file');
        await untilArchived(client, rows[0]?.file ?? '');
      }),
    async restore() {
      await postgres.stop();
      await rename(dir, `${dir}.lost`);
      await rename(backup, dir);
      await writeFile(join(dir, 'recovery.signal'), '');
      giveAway(dir);
      const recovery = {
        restore_command: `cp ${archive}/%f %p`,
        recovery_target_name: restorePoint,
        recovery_target_action: 'promote',
      };
      postgres = await startPostgres({
        dir,
        port: postgres.port,
        keepPort: true,
        password,
        guardian,
        settings: recovery,
      });
      await onServer(postgres.url, untilPromoted);
    },
    async wipeTemporal() {
      await temporal.stop();
      for (const end of ['', '-wal', '-shm']) await rm(join(folder, `temporal.db${end}`), { force: true });
      temporal = await launchTemporal({ port: temporal.port, uiPort: temporal.uiPort, keepPort: true });
    },
    close: () => guardian.close(),
  };
}

/** A command that must succeed. `cp` may find that PostgreSQL has removed a file meanwhile, which the WAL makes up for. */
function command(name: string, args: readonly string[]): void {
  const { status, stderr } = spawnSync(name, args, { encoding: 'utf8' });
  const mayVanish = name === 'cp' && /No such file or directory|vanished/.test(stderr);
  if (status !== 0 && !mayVanish) throw new Error(`${name} failed: ${stderr}`);
}

async function onServer<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end().catch(() => undefined);
  }
}

async function untilArchived(client: pg.Client, file: string): Promise<void> {
  await untilTrue(client, `select coalesce(last_archived_wal >= $1, false) as done from pg_stat_archiver`, [file]);
}

const untilPromoted = (client: pg.Client): Promise<void> =>
  untilTrue(client, 'select not pg_is_in_recovery() as done', []);

async function untilTrue(client: pg.Client, text: string, values: string[]): Promise<void> {
  const until = Date.now() + 60_000;
  for (;;) {
    const { rows } = await client.query<{ done: boolean }>(text, values);
    if (rows[0]?.done) return;
    if (Date.now() > until) throw new Error(`this was not true within a minute: ${text}`);
    await sleep(100);
  }
}
