import { mkdirSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { listedSettings } from '../../../src/config/load-config.ts';
import { startGuardian, type Guardian } from './processes/start-guardian.ts';
import { banner } from './banner.ts';
import { devEnvironment, refuseOpenHost, withoutProviderKeys } from './dev-environment.ts';
import { claimHome, removeDevFacts, removeState, writeDevFacts, type DevFacts } from './dev-home.ts';
import { createPorts, wantedPorts } from './dev-ports.ts';
import { devSecrets } from '../../../src/main/dev-home/dev-secrets.ts';
import { nodeOptions, startDatabase, startEngine, startSandbox, type ServerContext } from './dev-servers.ts';
import { noteChildren, stopFormerChildren } from './former-children.ts';
import { parseJson } from '../../../src/main/dev-home/json-file.ts';
import { runNodeOnce, startNodeChild } from './node-child.ts';
import { withProgress } from './progress.ts';
import { createSupervisor } from '../../../src/main/processes/supervisor.ts';

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

type Environment = Record<string, string | undefined>;

/** Everything that `npm start` runs on one machine, started and stopped together. */
export class DevStack {
  readonly #options: DevStackOptions;
  readonly #home: string;
  readonly #context: ServerContext;
  #lock: ReturnType<typeof claimHome> | null = null;
  #guardian: Guardian | null = null;
  #facts: DevFacts | null = null;
  #stopping: Promise<void> | null = null;

  constructor(options: DevStackOptions) {
    const { env, projectFolder, say } = options;
    this.#options = options;
    this.#home = resolve(projectFolder, env.TOLLGATE_HOME || '.tollgate');
    this.#context = {
      env,
      home: this.#home,
      logFolder: join(this.#home, 'logs'),
      projectFolder,
      ports: createPorts(),
      supervisor: createSupervisor({ say, onPids: (pids) => this.#notePids(pids) }),
      guardian: () => {
        if (this.#guardian === null || this.#stopping !== null) throw new Error('no process is started during a stop');
        return this.#guardian;
      },
    };
  }

  /** Starts everything, writes dev.json and returns the banner. Rejects with `StartRefused` if a person must decide. */
  async start(): Promise<string> {
    const { env, fresh, say, programs } = this.#options;
    const { logFolder, ports } = this.#context;
    const home = this.#home;
    refuseOpenHost(env);
    const wanted = wantedPorts(env);
    this.#lock = claimHome(home, say);
    await this.#progress('stopping processes of an earlier run', stopFormerChildren(home));
    if (fresh) removeState(home);
    removeDevFacts(home);
    mkdirSync(logFolder, { recursive: true, mode: 0o700 });
    const secrets = devSecrets(home);
    this.#guardian = startGuardian();

    const [database, temporal, sandboxUrl] = await all([
      this.#progress('starting PostgreSQL', startDatabase(this.#context, wanted.PGPORT, secrets.postgres_password)),
      this.#progress('starting Temporal', startEngine(this.#context, wanted.TEMPORAL_PORT, wanted.TEMPORAL_UI_PORT)),
      this.#progress('starting the sandbox', startSandbox(this.#context, wanted.SANDBOX_PORT, programs.sandbox)),
    ]);
    const whole = devEnvironment({ env, home, secrets, databaseUrl: database.url, temporal, sandboxUrl });
    const common = withoutProviderKeys(whole);
    const demo = await this.#prepareDatabase(common, whole);
    const baseUrl = await this.#startGateway(common, wanted.PORT);
    this.#facts = {
      base_url: baseUrl,
      api_key: demo.api_key,
      project_id: demo.project_id,
      internal_job_token: (common.INTERNAL_JOB_TOKENS ?? '').split(',')[0] ?? '',
      webhook_secret: demo.webhook_secret,
      database_url: database.url,
      temporal_address: temporal.address,
      temporal_ui_url: temporal.uiUrl,
      sandbox_url: sandboxUrl,
      admin_token: demo.admin_token,
      console_url: `${adminOrigin(baseUrl, env)}/console`,
    };
    writeDevFacts(home, this.#facts, this.#context.supervisor.pids());
    return banner(this.#facts, {
      credits: demo.demo_credits,
      providers: demo.providers,
      home,
      notes: ports.notes,
    });
  }

  /** Stops everything in order. Resolves when nothing runs any more. Every wait is bounded. */
  stop(): Promise<void> {
    return (this.#stopping ??= this.#stopAll());
  }

  /** Kills the processes that a stop still waits for. */
  hurry(): void {
    this.#options.say('killing the remaining processes');
    this.#context.supervisor.kill();
  }

  /** Migrates, applies the catalog and creates the demo project. Only the seed gets the providers' keys. */
  async #prepareDatabase(common: Environment, whole: Environment): Promise<z.infer<typeof Seeded>> {
    const { programs } = this.#options;
    const run = (name: string, script: string, env: Environment) =>
      runNodeOnce({ ...nodeOptions(this.#context, name, script, env), graceSeconds: 5 });
    await this.#progress('migrating the database', run('migrate', programs.migrate, common));
    const lines = await this.#progress('applying the catalog', run('seed-dev', programs.seed, whole));
    const demo = lines.map((line) => parseJson(Seeded, line)).find((line) => line !== null);
    if (demo) return demo;
    throw new Error(`seed-dev printed no result; its log is ${join(this.#context.logFolder, 'seed-dev.log')}`);
  }

  /** Starts the API and then the worker, whose file URLs need the API's port. Returns the API's URL. */
  async #startGateway(common: Environment, wanted: number): Promise<string> {
    const { env, programs } = this.#options;
    const { ports, supervisor } = this.#context;
    const host = env.HOST || '127.0.0.1';
    const portKeeper = ports.keep({ label: 'the API', wanted, host });
    const node = (name: string, script: string, port: number, graceSeconds: number, own: Environment = {}) => {
      const publicUrl = env.PUBLIC_BASE_URL || `http://127.0.0.1:${port}`;
      const childEnv = { ...common, HOST: host, PUBLIC_BASE_URL: publicUrl, ...own };
      return startNodeChild({ ...nodeOptions(this.#context, name, script, childEnv), graceSeconds });
    };
    const drainSeconds = secondsOf(common, 'SHUTDOWN_DRAIN_SECONDS') + closeSeconds;
    const startApi = () =>
      portKeeper.start((port) => node('api', programs.api, port, drainSeconds, { PORT: String(port) }));
    const api = await this.#progress('starting the API', supervisor.start({ name: 'api', start: startApi }));
    const port = await portKeeper.port();
    const forceSeconds = secondsOf(common, 'WORKER_SHUTDOWN_FORCE_SECONDS') + closeSeconds;
    const startWorker = () => node('worker', programs.worker, port, forceSeconds);
    await this.#progress('starting the worker', supervisor.start({ name: 'worker', start: startWorker }));
    return reachable(api.listening ?? `http://127.0.0.1:${port}`);
  }

  #notePids(pids: Record<string, number>): void {
    if (this.#stopping !== null) return;
    noteChildren(this.#home, pids);
    if (this.#facts !== null) writeDevFacts(this.#home, this.#facts, pids);
  }

  #progress<T>(label: string, work: Promise<T>): Promise<T> {
    const say = (text: string) => {
      if (this.#stopping === null) this.#options.say(text);
    };
    return withProgress(say, label, work);
  }

  async #stopAll(): Promise<void> {
    if (this.#lock === null) return;
    // Removed first, because no tool may rely on dev.json from here on.
    removeDevFacts(this.#home);
    for (const names of [['api', 'worker', 'sandbox'], ['temporal'], ['postgres']]) {
      await this.#context.supervisor.stop(names);
    }
    // The guardian stops the children that were still starting.
    await this.#guardian?.close();
    rmSync(join(this.#home, 'children.json'), { force: true });
    this.#lock.release();
  }
}

const Seeded = z.object({
  project_id: z.string(),
  api_key: z.string(),
  webhook_secret: z.string(),
  demo_credits: z.string().default(''),
  admin_token: z.string(),
  providers: z.array(z.object({ channel: z.string(), variable: z.string(), enabled: z.boolean() })).default([]),
});

/** For the last rows of a process that has finished its work. */
const closeSeconds = 15;

/** A time that a child gives itself. If the value is malformed, the child refuses to start. */
function secondsOf(env: Environment, name: string): number {
  const parsed = listedSettings.find((setting) => setting.name === name)?.schema.safeParse(env[name] || undefined);
  return typeof parsed?.data === 'number' ? parsed.data : 0;
}

/** Where the admin API listens: on `ADMIN_PORT`, or beside the API. */
function adminOrigin(baseUrl: string, { ADMIN_PORT: port, ADMIN_HOST: host }: Environment): string {
  if (!port) return baseUrl;
  const url = new URL(baseUrl);
  url.port = port;
  if (host) url.hostname = host;
  return reachable(url.origin);
}

/** The address of a server on this machine. Loopback, if it listens on all addresses. */
function reachable(url: string): string {
  const parsed = new URL(url);
  if (parsed.hostname === '0.0.0.0' || parsed.hostname === '[::]') parsed.hostname = '127.0.0.1';
  return parsed.origin;
}

/** Waits for all promises, so that nothing is still starting after a failure, and then rejects with the first failure. */
async function all<T extends readonly Promise<unknown>[]>(work: [...T]): Promise<{ [K in keyof T]: Awaited<T[K]> }> {
  await Promise.allSettled(work);
  return Promise.all(work);
}
