import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { findTemporal } from '../../../scripts/find-temporal.mjs';
import { choosePort } from '../servers/choose-port.ts';
import { startPostgres } from '../servers/postgres.ts';
import { startGuardian, type Guardian } from '../servers/start-guardian.ts';
import { startTemporal, temporalFile } from '../servers/temporal.ts';
import { banner } from './banner.ts';
import { devEnvironment, withoutProviderKeys } from './dev-environment.ts';
import { devSecrets } from './dev-secrets.ts';
import { noteChildren, stopFormerChildren } from './former-children.ts';
import { takeHomeLock, type HomeLock } from './home-lock.ts';
import { readLine, runNodeOnce, startNodeChild } from './node-child.ts';
import { createSupervisor } from './supervisor.ts';
import { writePrivate } from './write-private.ts';

export interface DevStackOptions {
  env: Record<string, string | undefined>;
  projectFolder: string;
  programs: DevPrograms;
  /** Empties the state folder first. */
  fresh: boolean;
  say: (text: string) => void;
}

/** The files that Node runs, one process each. */
export interface DevPrograms {
  api: string;
  worker: string;
  migrate: string;
  seed: string;
  sandbox: string;
}

export interface DevStack {
  /** Starts everything, writes dev.json, and answers the banner. Rejects with `StartRefused` where a person must decide. */
  start(): Promise<string>;
  /** Stops everything in order. Resolves when nothing is left, after bounded waits. */
  stop(): Promise<void>;
  /** Kills what a stop still waits for. */
  hurry(): void;
}

/** A start that was not tried, with the reason. */
export class StartRefused extends Error {}

/** Everything that `npm start` runs on one machine, as one thing to start and to stop. */
export function createDevStack({ env, projectFolder, programs, fresh, say }: DevStackOptions): DevStack {
  const home = resolve(projectFolder, env.TOLLGATE_HOME || '.tollgate');
  const logFolder = join(home, 'logs');
  const devFile = join(home, 'dev.json');
  const ports = createPorts();
  const notes = ports.notes;
  let lock: HomeLock | null = null;
  let guardian: Guardian | null = null;
  let facts: Omit<DevFacts, 'pids'> | null = null;
  let stopping: Promise<void> | null = null;

  const supervisor = createSupervisor({
    say,
    onPids(pids) {
      if (stopping !== null) return;
      noteChildren(home, pids);
      if (facts !== null) writePrivate(devFile, devJson(facts, pids));
    },
  });

  async function start(): Promise<string> {
    const wanted = wantedPorts(env);
    claimHome();
    await progress('stopping what an earlier run left', stopFormerChildren(home));
    if (fresh) removeState(home);
    rmSync(devFile, { force: true });
    mkdirSync(logFolder, { recursive: true, mode: 0o700 });
    const secrets = devSecrets(home);
    guardian = startGuardian();
    const host = env.HOST || '127.0.0.1';

    const [database, temporal, sandbox] = await all([
      progress('starting PostgreSQL', startDatabase(wanted.PGPORT, secrets.postgres_password)),
      progress('starting Temporal', startEngine(wanted.TEMPORAL_PORT, wanted.TEMPORAL_UI_PORT)),
      progress('starting the sandbox', startSandbox(wanted.SANDBOX_PORT)),
    ]);
    const whole = devEnvironment({ env, home, secrets, databaseUrl: database.url, temporal, sandboxUrl: sandbox });
    const common = withoutProviderKeys(whole);

    await progress('migrating the database', once('migrate', programs.migrate, common));
    const seeded = await progress('applying the catalog', once('seed-dev', programs.seed, whole));
    const demo = seeded.map((line) => readLine(Seeded, line)).find((line) => line !== null);
    if (!demo) throw new Error(`seed-dev said nothing that can be read; its log is ${join(logFolder, 'seed-dev.log')}`);

    const api = ports.keep({ label: 'the API', wanted: wanted.PORT, host });
    const forHost = (port: number) => ({
      ...common,
      HOST: host,
      PUBLIC_BASE_URL: env.PUBLIC_BASE_URL || `http://127.0.0.1:${port}`,
    });
    const gateway = await progress(
      'starting the API',
      supervisor.start({
        name: 'api',
        start: () => api.start((port) => node('api', programs.api, { ...forHost(port), PORT: String(port) })),
      }),
    );
    // After the API, because links that the worker hands out lead to the API's port.
    const apiPort = await api.port();
    await progress(
      'starting the worker',
      supervisor.start({
        name: 'worker',
        start: () => node('worker', programs.worker, forHost(apiPort), workerGraceSeconds),
      }),
    );
    facts = {
      base_url: reachable(gateway.listening ?? `http://127.0.0.1:${apiPort}`),
      api_key: demo.api_key,
      project_id: demo.project_id,
      internal_job_token: (common.INTERNAL_JOB_TOKENS ?? '').split(',')[0] ?? '',
      webhook_secret: demo.webhook_secret,
      database_url: database.url,
      temporal_address: temporal.address,
      temporal_ui_url: temporal.uiUrl,
      sandbox_url: sandbox,
    };
    writePrivate(devFile, devJson(facts, supervisor.pids()));
    return banner({
      baseUrl: facts.base_url,
      apiKey: facts.api_key,
      temporalAddress: facts.temporal_address,
      temporalUiUrl: facts.temporal_ui_url,
      sandboxUrl: facts.sandbox_url,
      providers: demo.providers,
      home,
      notes,
    });
  }

  function claimHome(): void {
    mkdirSync(home, { recursive: true, mode: 0o700 });
    lock = takeHomeLock(home);
    if (lock.kind === 'running') {
      const where = existsSync(devFile) ? `; ${devFile} says where` : '';
      throw new StartRefused(
        `already running on ${home} (process ${lock.pid})${where}. Stop it first, or set TOLLGATE_HOME to another folder.`,
      );
    }
    if (lock.tookOverFrom !== null)
      say(`the earlier run (process ${lock.tookOverFrom}) did not end in order; taking over`);
  }

  async function startDatabase(wanted: number, password: string): Promise<{ url: string }> {
    if (env.DATABASE_URL) return { url: env.DATABASE_URL };
    const place = ports.keep({ label: 'PostgreSQL', wanted });
    const logFile = join(logFolder, 'postgres.log');
    return supervisor.start({
      name: 'postgres',
      start: () =>
        place.start((port) =>
          startPostgres({ dir: join(home, 'postgres'), port, keepPort: true, password, logFile, guardian: guard() }),
        ),
    });
  }

  async function startEngine(
    wanted: number,
    wantedUi: number,
  ): Promise<{ address: string; uiUrl: string; own: boolean }> {
    if (env.TEMPORAL_ADDRESS) return { address: env.TEMPORAL_ADDRESS, uiUrl: env.TEMPORAL_UI_URL ?? '', own: false };
    const found = findTemporal({ env });
    if (found === null) {
      throw new StartRefused(
        'there is no Temporal server on this machine. `npm start` finds or makes one; or set TEMPORAL_ADDRESS.',
      );
    }
    const place = ports.keep({ label: 'Temporal', wanted });
    const uiPlace = ports.keep({ label: 'the Temporal UI', wanted: wantedUi });
    const files = { dbFile: temporalFile(home, found.version), logFile: join(logFolder, 'temporal.log') };
    const server = await supervisor.start({
      name: 'temporal',
      start: () =>
        place.start((port) =>
          uiPlace.start((uiPort) =>
            startTemporal({ binary: found.path, ...files, port, uiPort, keepPort: true, guardian: guard() }),
          ),
        ),
    });
    return { address: server.address, uiUrl: server.uiUrl, own: true };
  }

  async function startSandbox(wanted: number): Promise<string> {
    const place = ports.keep({ label: 'the sandbox', wanted });
    // It plays a stranger, so it gets nothing of our environment.
    const own = { PATH: env.PATH, HOME: env.HOME, HOST: '127.0.0.1' };
    const server = await supervisor.start({
      name: 'sandbox',
      start: () => place.start((port) => node('sandbox', programs.sandbox, { ...own, PORT: String(port) }, 2)),
    });
    return server.listening ?? `http://127.0.0.1:${await place.port()}`;
  }

  function node(name: string, script: string, childEnv: Record<string, string | undefined>, graceSeconds = 10) {
    return startNodeChild({
      name,
      script,
      cwd: projectFolder,
      env: childEnv,
      logFolder,
      guardian: guard(),
      graceSeconds,
    });
  }

  function once(name: string, script: string, childEnv: Record<string, string | undefined>) {
    return runNodeOnce({
      name,
      script,
      cwd: projectFolder,
      env: childEnv,
      logFolder,
      guardian: guard(),
      graceSeconds: 5,
    });
  }

  function guard(): Guardian {
    if (guardian === null || stopping !== null) throw new Error('everything is being stopped');
    return guardian;
  }

  /** Says what is being done once it takes more than a second, and how long it took. */
  async function progress<T>(label: string, work: Promise<T>): Promise<T> {
    const startedAt = Date.now();
    let said = false;
    const slow = setTimeout(() => {
      said = true;
      say(`${label} …`);
    }, 1_000);
    const slower = setInterval(() => say(`${label} … ${Math.round((Date.now() - startedAt) / 1000)} s`), 10_000);
    try {
      const result = await work;
      if (said && stopping === null) say(`${label}: done in ${((Date.now() - startedAt) / 1000).toFixed(1)} s`);
      return result;
    } finally {
      clearTimeout(slow);
      clearInterval(slower);
    }
  }

  async function stopAll(): Promise<void> {
    if (lock?.kind !== 'taken') return;
    // First of all: nobody should trust it from here on.
    rmSync(devFile, { force: true });
    for (const names of [['api', 'worker', 'sandbox'], ['temporal'], ['postgres']]) await supervisor.stop(names);
    // What was only just starting is on the guardian's list.
    await guardian?.close();
    rmSync(join(home, 'children.json'), { force: true });
    lock.release();
  }

  return {
    start,
    stop: () => (stopping ??= stopAll()),
    hurry() {
      say('killing what is left');
      supervisor.kill();
    },
  };
}

interface DevFacts {
  base_url: string;
  api_key: string;
  project_id: string;
  internal_job_token: string;
  webhook_secret: string;
  database_url: string;
  temporal_address: string;
  temporal_ui_url: string;
  sandbox_url: string;
  pids: Record<string, number>;
}

function devJson(facts: Omit<DevFacts, 'pids'>, pids: Record<string, number>): DevFacts {
  return { ...facts, pids: { supervisor: process.pid, ...pids } };
}

const Seeded = z.object({
  project_id: z.string(),
  api_key: z.string(),
  webhook_secret: z.string(),
  providers: z.array(z.object({ channel: z.string(), variable: z.string(), enabled: z.boolean() })).default([]),
});

// The worker lets running activities end; `devEnvironment` gives it less than this.
const workerGraceSeconds = 15;

const defaultPorts = { PORT: 8080, SANDBOX_PORT: 8090, TEMPORAL_PORT: 7233, TEMPORAL_UI_PORT: 8233, PGPORT: 5432 };

function wantedPorts(env: Record<string, string | undefined>): typeof defaultPorts {
  const port = (name: keyof typeof defaultPorts) => {
    const text = env[name];
    if (text === undefined || text === '') return defaultPorts[name];
    if (!/^\d{1,5}$/.test(text) || Number(text) > 65_535)
      throw new StartRefused(`${name} must be a port from 0 to 65535`);
    return Number(text);
  };
  return {
    PORT: port('PORT'),
    SANDBOX_PORT: port('SANDBOX_PORT'),
    TEMPORAL_PORT: port('TEMPORAL_PORT'),
    TEMPORAL_UI_PORT: port('TEMPORAL_UI_PORT'),
    PGPORT: port('PGPORT'),
  };
}

interface PortKeeper {
  /** Starts something on its port: the first time the wanted one or a free one, afterwards always the same. */
  start<T>(run: (port: number) => Promise<T>): Promise<T>;
  /** The port, chosen now if it was not yet. */
  port(): Promise<number>;
}

/** Gives each server a port of its own and notes, for the banner, whenever it is not the one that was asked for. */
function createPorts() {
  const taken = new Set<number>();
  const notes: string[] = [];
  function keep({ label, wanted, host }: { label: string; wanted: number; host?: string }): PortKeeper {
    let chosen: Promise<number> | null = null;
    let settled = false;
    const choose = (from: number) => (chosen = choosePort(from, taken, host));
    return {
      port: () => chosen ?? choose(wanted),
      async start(run) {
        for (let tries = 1; ; tries++) {
          const port = await (chosen ?? choose(wanted));
          try {
            const running = await run(port);
            if (!settled && port !== wanted)
              notes.push(
                wanted === 0
                  ? `${label} has the free port ${port}.`
                  : `Port ${wanted} was taken: ${label} is on ${port}.`,
              );
            settled = true;
            return running;
          } catch (error) {
            // Between choosing and listening another program may have taken it; then, and only the first time, another one.
            const lost = !settled && tries < 3 && (await choosePort(port, new Set(), host)) !== port;
            if (!lost) throw error;
            await choose(0);
          }
        }
      },
    };
  }
  return { keep, notes };
}

/** A server on all addresses is reached here by loopback. */
function reachable(url: string): string {
  const parsed = new URL(url);
  if (parsed.hostname === '0.0.0.0' || parsed.hostname === '[::]') parsed.hostname = '127.0.0.1';
  return parsed.origin;
}

const stateNames = /^(postgres(\.new)?|temporal-.*|files|logs|(secrets|demo|dev|children)\.json|initdb-.*\.log)$/;

/** Removes what is ours and nothing else: TOLLGATE_HOME may name a folder that holds more. */
function removeState(home: string): void {
  for (const name of readdirSync(home).filter((entry) => stateNames.test(entry))) {
    rmSync(join(home, name), { recursive: true, force: true, maxRetries: 3 });
  }
}

/** Waits for all, so that a failing one leaves none behind that is still starting; then rejects with the first failure. */
async function all<T extends readonly Promise<unknown>[]>(work: [...T]): Promise<{ [K in keyof T]: Awaited<T[K]> }> {
  await Promise.allSettled(work);
  return Promise.all(work);
}
