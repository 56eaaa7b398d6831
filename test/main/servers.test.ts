import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import pg from 'pg';
import { cachedTemporal, checkTemporal, findTemporal } from '../../scripts/find-temporal.mjs';
import { choosePort } from '../../src/main/processes/choose-port.ts';
import { startPostgres } from '../../packages/dev-stack/src/servers/postgres.ts';
import { processStart } from '../../packages/dev-stack/src/processes/process-identity.ts';
import { startGuardian } from '../../packages/dev-stack/src/processes/start-guardian.ts';
import { startTemporal } from '../../packages/dev-stack/src/servers/temporal.ts';
import { chooseOwnPort } from '../support/own-port.ts';

const temporalBinary = process.env.TEST_TEMPORAL_BINARY ?? '';
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-servers-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('the embedded PostgreSQL', () => {
  /** The folder that the tests of a single server share, because it takes seconds to initialise one. */
  const cluster = () => ({ dir: join(folder, 'cluster'), password: 'a/b@c', port: 0 });

  it('keeps committed data if it is killed, and starts again in the same folder on the same port', async () => {
    const options = { ...cluster(), logFile: join(folder, 'killed.log') };
    const first = await startPostgres(options);
    await query(first.url, 'CREATE TABLE kept (n int); INSERT INTO kept VALUES (7)');
    process.kill(first.pid, 'SIGKILL');
    expect(await first.exited).toBe('was ended by SIGKILL');
    const second = await startPostgres({ ...options, port: first.port, keepPort: true });
    try {
      expect(second.port).toBe(first.port);
      expect(await query(second.url, 'SELECT n FROM kept')).toEqual([{ n: 7 }]);
    } finally {
      await second.stop();
    }
    expect(processStart(second.pid)).toBeNull();
  });

  it('uses UTF-8 and C collation, listens on loopback only, and logs no parameters of a failing statement', async () => {
    const logFile = join(folder, 'settings.log');
    const server = await startPostgres({ ...cluster(), logFile });
    try {
      const [row] = await query(
        server.url,
        `SELECT pg_encoding_to_char(encoding) AS encoding, datcollate, current_setting('listen_addresses') AS addresses,
           current_setting('synchronous_commit') AS durable, current_setting('max_connections') AS connections
         FROM pg_database WHERE datname = 'tollgate'`,
      );
      expect(row).toEqual({
        encoding: 'UTF8',
        datcollate: 'C',
        addresses: '127.0.0.1',
        durable: 'on',
        connections: '200',
      });
      await expect(query(server.url, 'SELECT 1/(length($1)-14)', ['sk-very-secret'])).rejects.toThrow(
        'division by zero',
      );
      expect(readFileSync(logFile, 'utf8')).toContain('division by zero');
      expect(readFileSync(logFile, 'utf8')).not.toContain('sk-very-secret');
    } finally {
      await server.stop();
    }
  });

  it('starts two servers on two free ports if the port that both want is taken', async () => {
    const { server: holder, port } = await holdPort();
    const avoid = new Set<number>();
    const servers = await Promise.all(
      ['one', 'two'].map((name) => startPostgres({ dir: join(folder, name), port, avoid, password: 'x' })),
    );
    try {
      expect(new Set([port, ...servers.map((server) => server.port)]).size).toBe(3);
    } finally {
      await Promise.all(servers.map((server) => server.stop()));
      holder.close();
    }
  });

  it('stops the server of an earlier run that still uses the folder', async () => {
    const orphan = await startPostgres(cluster());
    const next = await startPostgres(cluster());
    try {
      expect(processStart(orphan.pid)).toBeNull();
      expect(await query(next.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    } finally {
      await next.stop();
    }
  });

  it('starts even if its old process id belongs to another program', async () => {
    const options = cluster();
    await (await startPostgres(options)).stop();
    writeFileSync(join(options.dir, 'postmaster.pid'), `${process.pid}\n${options.dir}\n`);
    const server = await startPostgres(options);
    await server.stop();
  });

  it('includes its log in the error if it cannot start', async () => {
    const options = { ...cluster(), logFile: join(folder, 'broken.log') };
    await expect(startPostgres({ ...options, settings: { no_such_setting: '1' } })).rejects.toThrow('no_such_setting');
  });
});

describe('the embedded Temporal server', () => {
  it('keeps its workflows over a restart on the same port, and loses them if its data is deleted', async () => {
    const dbFile = join(folder, 'temporal.db');
    const options = { binary: temporalBinary, dbFile, logFile: join(folder, 'temporal.log') };
    const first = await startTemporal({ ...options, port: 0, uiPort: 0 });
    await startWorkflow(first.address);
    await first.stop();

    const second = await startTemporal({ ...options, port: first.port, uiPort: first.uiPort, keepPort: true });
    expect(second.address).toBe(first.address);
    expect(await describeWorkflow(second.address)).toBe('RUNNING');
    await second.stop();

    for (const suffix of ['', '-wal', '-shm']) rmSync(`${dbFile}${suffix}`, { force: true });
    const third = await startTemporal({ ...options, port: first.port, uiPort: first.uiPort, keepPort: true });
    try {
      await expect(describeWorkflow(third.address)).rejects.toThrow('not found');
    } finally {
      await third.stop();
    }
  });

  it('has our search attributes', async () => {
    const server = await startTemporal({
      binary: temporalBinary,
      dbFile: join(folder, 'search.db'),
      port: 0,
      uiPort: 0,
    });
    const connection = await Connection.connect({ address: server.address, connectTimeout: 30_000 });
    try {
      const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace: 'default' });
      expect(Object.keys(customAttributes ?? {})).toEqual(
        expect.arrayContaining(['TollgateModel', 'TollgateProject', 'TollgateKind', 'TollgateOutcome']),
      );
    } finally {
      await connection.close();
      await server.stop();
    }
  });

  it('fails to start if another Temporal server uses its port, however slowly its own program starts', async () => {
    const taken = process.env.TEST_TEMPORAL_ADDRESS ?? '';
    const port = Number(taken.split(':')[1]);
    const uiPort = await choosePort(0, new Set());
    const binary = join(folder, 'slow-temporal');
    writeFileSync(binary, '#!/bin/sh\nexec sleep 60\n', { mode: 0o755 });
    const options = { binary, dbFile: join(folder, 'rival.db'), logFile: join(folder, 'rival.log') };
    await expect(startTemporal({ ...options, port, uiPort, keepPort: true })).rejects.toThrow(`port ${port}`);
  });
});

describe('choosePort', () => {
  it('returns the wanted port if it is free, otherwise another one, and never the same port twice', async () => {
    const { server, port } = await holdPort();
    const avoid = new Set<number>();
    const chosen = await Promise.all([port, port, 0, 0].map((wanted) => choosePort(wanted, avoid)));
    expect(chosen).not.toContain(port);
    expect(new Set(chosen).size).toBe(4);
    server.close();
    // No other program takes a port of this file.
    const free = await chooseOwnPort();
    expect(await choosePort(free, new Set())).toBe(free);
  });
});

describe('findTemporal', () => {
  it('finds a server on the PATH, otherwise in the cache of the user', () => {
    const bin = join(folder, 'bin');
    const cache = join(folder, 'cache');
    mkdirSync(bin);
    mkdirSync(join(cache, 'tollgate'), { recursive: true });
    const env = { PATH: bin, XDG_CACHE_HOME: cache };
    expect(findTemporal({ env })).toBeNull();
    copyFileSync(temporalBinary, cachedTemporal(env));
    chmodSync(cachedTemporal(env), 0o755);
    expect(findTemporal({ env })).toMatchObject({ source: 'cache', path: cachedTemporal(env) });
    writeFileSync(join(bin, 'temporal'), `#!/bin/sh\nexec ${temporalBinary} "$@"\n`, { mode: 0o755 });
    expect(findTemporal({ env })).toMatchObject({ source: 'PATH', path: join(bin, 'temporal') });
  });

  it.each([
    ['a truncated download', readFileSync(temporalBinary).subarray(0, 1_000_000), 'does not run'],
    ['an error page', '<html>502 Bad Gateway</html>', 'does not run'],
    ['another program of that name', '#!/bin/sh\necho temporal 9.9\n', 'does not run'],
    [
      'a server without task queue fairness',
      '#!/bin/sh\necho "temporal version 1.3.0 (Server 1.27.1, UI 2.36.0)"\n',
      'is too old (1.3.0)',
    ],
  ])('rejects %s', (name, content, problem) => {
    const path = join(folder, name.replaceAll(' ', '-'));
    writeFileSync(path, content, { mode: 0o755 });
    expect(checkTemporal(path)).toEqual({ path, problem });
  });
});

describe('the guardian', () => {
  it('stops a watched process and removes the folder if its parent is killed', async () => {
    const watched = join(folder, 'guarded');
    mkdirSync(watched);
    const victim = spawn('sleep', ['600'], { detached: true, stdio: 'ignore' });
    const ended = new Promise((resolve) => victim.once('exit', (_code, signal) => resolve(signal)));
    const guardian = new URL('../../packages/dev-stack/src/processes/start-guardian.ts', import.meta.url).href;
    const parent = spawn(
      process.execPath,
      [
        '--input-type=module',
        '-e',
        `const { startGuardian } = await import(${JSON.stringify(guardian)});
         const guardian = startGuardian();
         guardian.removeFolder(${JSON.stringify(watched)});
         guardian.watch(${victim.pid ?? 0}, { signal: 'SIGTERM', graceSeconds: 5, rank: 0 });
         console.log('watching');
         setInterval(() => {}, 1000);`,
      ],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    await new Promise((resolve) => parent.stdout.once('data', resolve));
    parent.kill('SIGKILL');
    expect(await ended).toBe('SIGTERM');
    while (existsSync(watched)) await new Promise((resolve) => setTimeout(resolve, 50));
  });

  it('refuses to watch a process after it is closed', async () => {
    const guardian = startGuardian();
    await guardian.close();
    expect(guardian.watch(process.pid, { signal: 'SIGTERM', graceSeconds: 1, rank: 0 })).toBe(false);
  });
});

async function query(url: string, text: string, values?: unknown[]): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 30_000 });
  await client.connect();
  try {
    const { rows } = await client.query<Record<string, unknown>>(text, values);
    return rows;
  } finally {
    await client.end();
  }
}

async function withClient<T>(address: string, use: (client: Client) => Promise<T>): Promise<T> {
  const connection = await Connection.connect({ address, connectTimeout: 30_000 });
  try {
    return await use(new Client({ connection }));
  } finally {
    await connection.close();
  }
}

const startWorkflow = (address: string) =>
  withClient(address, (client) => client.workflow.start('kept', { taskQueue: 'nobody', workflowId: 'kept' }));

const describeWorkflow = (address: string) =>
  withClient(address, async (client) => (await client.workflow.getHandle('kept').describe()).status.name);

async function holdPort(): Promise<{ server: Server; port: number }> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address !== 'object') throw new Error('no port');
  return { server, port: address.port };
}
