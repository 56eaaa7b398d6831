import { join } from 'node:path';
import { startProgram, type Program } from './program.ts';

/** What ends each thing that was started, in this order. */
export type Undo = (() => Promise<unknown>)[];

/** The processes of a gateway. */
export interface GatewayPrograms {
  /** Where each API listens, in the order of their starts. */
  baseUrls: string[];
  /** Sends a signal to `api-1`, `worker-1`, `sandbox`…; after one that ends it, resolves when it is gone. */
  kill(name: string, signal?: NodeJS.Signals): Promise<void>;
  /** How a process ended by itself, as soon as it has: a signal's name or `code 1`. */
  exited(name: string): Promise<string>;
  /** Starts one more, on a port of its own and with settings of its own; answers its name and where it listens. `folder` is another release's. */
  startApi(own?: Record<string, string>, folder?: string): Promise<{ name: string; baseUrl: string }>;
  startWorker(own?: Record<string, string>, folder?: string): Promise<{ name: string }>;
  /** Starts it again, on its port, after it was killed. */
  startSandbox(): Promise<void>;
  pids(): Record<string, number>;
}

interface GatewayProgramsOptions {
  /** Of the logs. */
  folder: string;
  /** What each process runs with. */
  env: Record<string, string>;
  sandboxPort: number;
  /** Of the first API. The others take a free port. */
  firstPort: number;
  asInProduction: boolean;
  undo: Undo;
}

/** Starts nothing yet. `stopTogether` asks all processes to end at the same time. */
export function createGatewayPrograms({
  folder,
  env,
  sandboxPort,
  firstPort,
  asInProduction,
  undo,
}: GatewayProgramsOptions): GatewayPrograms & { stopTogether(): Promise<unknown> } {
  const programs = new Map<string, Program>();
  const programOf = (name: string): Program => {
    const program = programs.get(name);
    if (!program) throw new Error(`there is no ${name}`);
    return program;
  };
  const start = async (
    name: string,
    program: string,
    own: Record<string, string>,
    release?: string,
  ): Promise<Program> => {
    const logFile = join(folder, `${name}.log`);
    const running = await startProgram({
      name: program,
      env: own,
      logFile,
      asInProduction,
      ...(release !== undefined && { folder: release }),
    });
    programs.set(name, running);
    undo.push(() => running.stop());
    return running;
  };
  const startSandbox = async (): Promise<void> => {
    await start('sandbox', 'sandbox', {
      PORT: String(sandboxPort),
      PATH: env.PATH ?? '',
      CATALOG_FILE: env['CATALOG_FILE'] ?? '',
    });
  };
  const counts = { api: 0, worker: 0 };
  const baseUrls: string[] = [];
  const startApi: GatewayPrograms['startApi'] = async (own = {}, release) => {
    const name = `api-${++counts.api}`;
    const port = counts.api === 1 ? firstPort : 0;
    const { listening } = await start(name, 'api', { ...env, PORT: String(port), ...own }, release);
    baseUrls.push(listening ?? '');
    return { name, baseUrl: listening ?? '' };
  };
  const startWorker: GatewayPrograms['startWorker'] = async (own = {}, release) => {
    const name = `worker-${++counts.worker}`;
    await start(name, 'worker', { ...env, ...own }, release);
    return { name };
  };
  return {
    baseUrls,
    exited: (name) => programOf(name).exited,
    async kill(name, signal = 'SIGKILL') {
      const program = programOf(name);
      program.kill(signal);
      if (signal === 'SIGKILL' || signal === 'SIGTERM' || signal === 'SIGINT') await program.exited;
    },
    startApi,
    startWorker,
    startSandbox,
    pids: () => Object.fromEntries([...programs].map(([name, { pid }]) => [name, pid])),
    stopTogether: () => Promise.allSettled([...programs.values()].map((program) => program.stop())),
  };
}
