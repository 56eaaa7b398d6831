import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { z } from 'zod';
import { takeHomeLock } from '../../packages/dev-stack/src/home-lock.ts';
import { createSupervisor, type RunningChild } from '../../src/main/processes/supervisor.ts';
import { processStart } from '../../packages/dev-stack/src/processes/process-identity.ts';
import { eventually } from '../support/eventually.ts';
import { ownPortsOfStart } from '../support/own-port.ts';

const DevFile = z.object({
  base_url: z.string(),
  api_key: z.string(),
  project_id: z.string(),
  internal_job_token: z.string().min(32),
  webhook_secret: z.string(),
  database_url: z.string(),
  temporal_address: z.string(),
  temporal_ui_url: z.string(),
  sandbox_url: z.string(),
  admin_token: z.string(),
  console_url: z.string(),
  pids: z.record(z.string(), z.number()),
});

let home: string;
let started: ChildProcess[];
let ports: Record<string, string>;
beforeEach(async () => {
  ports = await ownPortsOfStart();
  home = mkdtempSync(join(tmpdir(), 'tollgate-dev-'));
  started = [];
});
afterEach(async () => {
  for (const child of started.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null)) {
    child.kill('SIGTERM');
    await ended(child);
  }
  rmSync(home, { recursive: true, force: true, maxRetries: 3 });
});

describe('npm start', () => {
  it('writes dev.json with mode 0600, prints a banner with commands to try, and stops every process after Ctrl-C', async () => {
    const run = start({ servers: 'shared' });
    const banner = await run.ready();
    const dev = readDev();
    expect(statSync(join(home, 'dev.json')).mode & 0o777).toBe(0o600);
    expect(statSync(join(home, 'secrets.json')).mode & 0o777).toBe(0o600);
    expect(dev).toMatchObject({ api_key: 'sk-fake', project_id: 'prj_fake', webhook_secret: 'whsec_fake' });
    expect(dev).toMatchObject({ admin_token: 'adm_fake', console_url: `${dev.base_url}/console` });
    expect(dev.pids.supervisor).toBe(run.child.pid);
    expect(Object.keys(dev.pids).sort()).toEqual(['api', 'sandbox', 'supervisor', 'worker']);
    for (const text of [
      `${dev.base_url}/console/playground`,
      dev.sandbox_url,
      'sk-fake',
      'aurora-image-1',
      '/api/v1/images/generate',
    ]) {
      expect(banner).toContain(text);
    }
    run.child.kill('SIGINT');
    expect(await ended(run.child)).toBe(0);
    expect(Object.values(dev.pids).map(processStart).filter(Boolean)).toEqual([]);
    expect(existsSync(join(home, 'dev.json'))).toBe(false);
    expect(existsSync(join(home, 'lock'))).toBe(false);
  });

  it('refuses a second start on the same folder and names the process of the first', async () => {
    const run = start({ servers: 'shared' });
    await run.ready();
    for (const args of [[], ['--fresh']]) {
      const second = start({ servers: 'shared', args });
      expect(await ended(second.child)).toBe(1);
      expect(second.output()).toContain(`already running on ${home} (process ${run.child.pid})`);
      expect(second.output()).toContain('dev.json');
    }
    expect(readDev().pids.supervisor).toBe(run.child.pid);
  });

  it('restarts every killed child on the same port, and if it is killed, stops every child, and the next start keeps the data unless --fresh is given', async () => {
    const killed = start({ servers: 'own' });
    await killed.ready();
    const before = readDev();
    await query(before.database_url, 'CREATE TABLE kept AS SELECT 7 AS n');
    for (const name of ['api', 'postgres', 'temporal']) process.kill(before.pids[name] ?? 0, 'SIGKILL');
    const after = await until(() => {
      const dev = readDev();
      return ['api', 'postgres', 'temporal'].every((name) => dev.pids[name] !== before.pids[name]) ? dev : null;
    });
    expect({ ...after, pids: {} }).toEqual({ ...before, pids: {} });
    expect(after.pids.worker).toBe(before.pids.worker);
    expect((await fetch(after.base_url)).status).toBe(200);
    // Temporal answers clients at another port, perhaps a moment before its UI listens.
    const isShown = () =>
      fetch(after.temporal_ui_url)
        .then(({ status }) => status === 200)
        .catch(() => false);
    await eventually(isShown, { what: 'the UI of Temporal' });
    expect(await query(after.database_url, 'SELECT n FROM kept')).toEqual([{ n: 7 }]);

    killed.child.kill('SIGKILL');
    await until(() => (Object.values(after.pids).every((pid) => processStart(pid) === null) ? true : null));

    const next = start({ servers: 'own' });
    await next.ready();
    expect(next.output()).toContain('taking over');
    expect(readDev().internal_job_token).toBe(before.internal_job_token);
    expect(await query(readDev().database_url, 'SELECT n FROM kept')).toEqual([{ n: 7 }]);
    next.child.kill('SIGTERM');
    expect(await ended(next.child)).toBe(0);

    writeFileSync(join(home, 'not-ours.txt'), 'kept');
    const fresh = start({ servers: 'own', args: ['--fresh'] });
    await fresh.ready();
    expect(readDev().internal_job_token).not.toBe(before.internal_job_token);
    await expect(query(readDev().database_url, 'SELECT n FROM kept')).rejects.toThrow('does not exist');
    expect(readdirSync(home)).toContain('not-ours.txt');
  });

  it('uses a free port if the wanted one is taken, and names both', async () => {
    const holder = createServer();
    await new Promise<void>((resolve) => holder.listen(0, '127.0.0.1', resolve));
    const address = holder.address();
    const port = address !== null && typeof address === 'object' ? address.port : 0;
    try {
      const run = start({ servers: 'shared', env: { PORT: String(port), SANDBOX_PORT: String(port) } });
      const banner = await run.ready();
      const dev = readDev();
      expect(new Set([String(port), new URL(dev.base_url).port, new URL(dev.sandbox_url).port]).size).toBe(3);
      expect(banner).toContain(`Port ${port} was taken: the API is on ${new URL(dev.base_url).port}.`);
      expect(banner).toContain(`Port ${port} was taken: the sandbox is on ${new URL(dev.sandbox_url).port}.`);
    } finally {
      holder.close();
    }
  });

  it('passes the settings to its processes, keeps an empty EGRESS_ALLOW_CIDRS, and gives the sandbox no secret', async () => {
    await start({ servers: 'shared', env: { EGRESS_ALLOW_CIDRS: '', OPENAI_API_KEY: 'sk-provider' } }).ready();
    const dev = readDev();
    const Env = z.record(z.string(), z.string());
    const api = Env.parse(await (await fetch(dev.base_url)).json());
    expect(api).toMatchObject({
      EGRESS_ALLOW_CIDRS: '',
      PUBLIC_BASE_URL: dev.base_url,
      SANDBOX_URL: dev.sandbox_url,
      FILES_LOCAL_DIR: join(home, 'files'),
      INTERNAL_JOB_TOKENS: dev.internal_job_token,
      DATABASE_URL: dev.database_url,
      TEMPORAL_ADDRESS: dev.temporal_address,
    });
    const sandbox = Env.parse(await (await fetch(dev.sandbox_url)).json());
    expect(Object.keys(sandbox)).not.toContain('OPENAI_API_KEY');
    expect(Object.keys(sandbox)).not.toContain('MASTER_KEYS');
  });

  it('prints why a child cannot start, with the path of its log, and leaves no files behind', async () => {
    const run = start({ servers: 'shared', env: { FAKE_FAIL: 'true' } });
    expect(await ended(run.child)).toBe(1);
    expect(run.output()).toContain('api: it ended with code 1');
    expect(run.output()).toContain('KEY_PEPPERS is required');
    expect(run.output()).toContain(join(home, 'logs', 'api.log'));
    expect(existsSync(join(home, 'dev.json'))).toBe(false);
    expect(existsSync(join(home, 'lock'))).toBe(false);
  });

  it('stops cleanly while it is still starting', async () => {
    const run = start({ servers: 'own' });
    await until(() => (existsSync(join(home, 'postgres.new')) || existsSync(join(home, 'postgres')) ? true : null));
    run.child.kill('SIGTERM');
    expect(await ended(run.child)).toBe(0);
    expect(existsSync(join(home, 'lock'))).toBe(false);
    // A server that was just being started ends a moment later.
    await until(() => (existsSync(join(home, 'postgres', 'postmaster.pid')) ? null : true));
  });

  it('refuses a HOST that is not loopback while EGRESS_ALLOW_CIDRS is set', async () => {
    for (const env of [{ HOST: '0.0.0.0' }, { HOST: '::' }, { HOST: '127.0.0.1.example' }]) {
      const run = start({ servers: 'shared', env });
      expect(await ended(run.child)).toBe(1);
      expect(run.output()).toContain(`HOST=${env.HOST} lets other machines reach this gateway`);
      expect(run.output()).toContain('Set EGRESS_ALLOW_CIDRS to the empty value');
    }
    expect(readdirSync(home)).toEqual([]);
    const allowed: Record<string, string>[] = [
      { HOST: '0.0.0.0', EGRESS_ALLOW_CIDRS: '' },
      { HOST: '127.0.0.2' },
      { HOST: 'localhost' },
    ];
    for (const env of allowed) {
      const run = start({ servers: 'shared', env });
      await run.ready();
      run.child.kill('SIGTERM');
      expect(await ended(run.child)).toBe(0);
    }
  });

  it('refuses an unknown argument and names the known one', async () => {
    const run = start({ servers: 'shared', args: ['--frech'] });
    expect(await ended(run.child)).toBe(2);
    expect(run.output()).toContain('--fresh');
  });
});

describe('takeHomeLock', () => {
  it('refuses the folder while its process runs, and frees it on release', () => {
    const first = takeHomeLock(home);
    expect(first).toMatchObject({ kind: 'taken', tookOverFrom: null });
    expect(takeHomeLock(home)).toEqual({ kind: 'running', pid: process.pid });
    if (first.kind === 'taken') first.release();
    expect(takeHomeLock(home)).toMatchObject({ kind: 'taken', tookOverFrom: null });
  });

  it('takes over the lock of an ended process, even if another process has the same id now', () => {
    writeFileSync(join(home, 'lock'), JSON.stringify({ pid: process.pid, start: 'long ago' }));
    expect(takeHomeLock(home)).toMatchObject({ kind: 'taken', tookOverFrom: process.pid });
    expect(takeHomeLock(home)).toEqual({ kind: 'running', pid: process.pid });
  });

  it('takes over a lock that cannot be read', () => {
    writeFileSync(join(home, 'lock'), '{"pid":');
    expect(takeHomeLock(home)).toMatchObject({ kind: 'taken' });
    expect(readdirSync(home)).toEqual(['lock']);
  });
});

describe('createSupervisor', () => {
  it('doubles the wait after each exit of a child, up to a maximum, and starts none after stop', async () => {
    const lines: string[] = [];
    const backoff = { minSeconds: 0.001, maxSeconds: 0.004, calmSeconds: 60 };
    const supervisor = createSupervisor({ say: (text) => lines.push(text), onPids: () => {}, backoff });
    let starts = 0;
    await supervisor.start({ name: 'fragile', start: () => Promise.resolve(dead(++starts)) });
    await until(() => (starts > 5 ? true : null));
    await supervisor.stop(['fragile']);
    const startsAtStop = starts;
    const waits = lines.flatMap((text) => /again in ([\d.]+) s/.exec(text)?.[1] ?? []);
    expect(waits.slice(0, 4)).toEqual(['0.001', '0.002', '0.004', '0.004']);
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(starts).toBe(startsAtStop);
  });

  it('keeps trying if a restart fails', async () => {
    const backoff = { minSeconds: 0.001, maxSeconds: 0.004, calmSeconds: 60 };
    const seen: Record<string, number>[] = [];
    const supervisor = createSupervisor({ say: () => {}, onPids: (pids) => seen.push(pids), backoff });
    let starts = 0;
    await supervisor.start({
      name: 'late',
      start() {
        starts++;
        if (starts === 1) return Promise.resolve(dead(1));
        return starts < 4 ? Promise.reject(new Error('port in use')) : Promise.resolve(alive(starts));
      },
    });
    await until(() => (seen.some(({ late }) => late === 4) ? true : null));
    await supervisor.stop(['late']);
    expect(supervisor.pids()).toEqual({});
  });
});

function dead(pid: number): RunningChild {
  return { pid, exited: Promise.resolve('ended with code 1'), stop: () => Promise.resolve() };
}

function alive(pid: number): RunningChild {
  const { promise, resolve } = Promise.withResolvers<string>();
  return {
    pid,
    exited: promise,
    stop() {
      resolve('ended with code 0');
      return Promise.resolve();
    },
  };
}

interface StartOptions {
  /** `shared`: uses the servers of the test run. `own`: starts its own PostgreSQL and Temporal. */
  servers: 'shared' | 'own';
  args?: string[];
  env?: Record<string, string>;
}

function start({ servers, args = [], env = {} }: StartOptions) {
  const existingServers = {
    DATABASE_URL: process.env.TEST_DATABASE_URL,
    TEMPORAL_ADDRESS: process.env.TEST_TEMPORAL_ADDRESS,
  };
  const child = spawn(process.execPath, [fileURLToPath(new URL('./fixtures/fake-dev.ts', import.meta.url)), ...args], {
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      XDG_CACHE_HOME: process.env.XDG_CACHE_HOME,
      TOLLGATE_HOME: home,
      ...ports,
      ...(servers === 'shared' ? existingServers : {}),
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  started.push(child);
  let text = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (text += chunk.toString('utf8')));
  return {
    child,
    output: () => text,
    ready: () =>
      until(() => {
        if (child.exitCode !== null) throw new Error(`npm start ended:\n${text}`);
        return text.includes('Ctrl-C stops everything') ? text : null;
      }),
  };
}

function ended(child: ChildProcess): Promise<number | null> {
  if (child.exitCode !== null) return Promise.resolve(child.exitCode);
  return new Promise((resolve) => child.once('close', (code) => resolve(code)));
}

function readDev() {
  return DevFile.parse(JSON.parse(readFileSync(join(home, 'dev.json'), 'utf8')));
}

/** Returns the first result of `poll` that is not null. The limit ends a broken run and says nothing about speed. */
async function until<T>(poll: () => T | null): Promise<T> {
  for (let tries = 0; tries < 2_500; tries++) {
    const seen = poll();
    if (seen !== null) return seen;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error('The condition was not met in time');
}

async function query(url: string, text: string): Promise<unknown[]> {
  for (let tries = 1; ; tries++) {
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 30_000 });
    client.on('error', () => {});
    try {
      await client.connect();
      const { rows } = await client.query<Record<string, unknown>>(text);
      return rows;
    } catch (error) {
      const refused = error instanceof Error && 'code' in error && error.code === 'ECONNREFUSED';
      if (!refused || tries > 240) throw error;
      await new Promise((resolve) => setTimeout(resolve, 250));
    } finally {
      await client.end().catch(() => {});
    }
  }
}
