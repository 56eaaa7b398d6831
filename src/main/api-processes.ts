import cluster, { type Worker } from 'node:cluster';
import type { Config } from '../config/load-config.ts';
import { createLogger } from '../platform/observe/logger.ts';
import { pageOfAll, type MetricValues, type Metrics } from '../platform/observe/metrics.ts';
import { announce, stopOnSignals, warnOfIgnoredSettings } from './run-process.ts';
import { createSupervisor, type RunningChild } from './processes/supervisor.ts';
import { alarmOf } from '../domain/operators/alarm.ts';

/** What the processes of one API server tell each other. */
type ProcessMessage =
  /** A process is ready. */
  | { kind: 'ready'; listening: string }
  /** A process was asked for `/metrics`, and the first process asks all. */
  | { kind: 'page_wanted'; id: number }
  | { kind: 'page'; id: number; page: string }
  | { kind: 'values_wanted'; id: number }
  | { kind: 'values'; id: number; values: MetricValues };

/**
 * Runs `API_PROCESSES` API servers on one port (https://nodejs.org/api/cluster.html) and starts one again when it ends. Each has its
 * own caches, limits and connections. Exits with 1 if the first of them cannot start.
 */
export async function runApiProcesses({ http, logging }: Pick<Config, 'http' | 'logging'>): Promise<void> {
  const logger = createLogger(logging.level, 'api');
  warnOfIgnoredSettings(logger);
  cluster.setupPrimary({ stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  const supervisor = createSupervisor({ say: (text) => logger.warn(text), onPids: () => undefined });
  const names = Array.from({ length: http.processes }, (_, n) => `api process ${n + 1}`);
  stopOnSignals(
    () => supervisor.stop(names),
    (error) => logger.fatal({ err: error, ...alarmOf('api_stopped') }, 'the API server stops because of an error'),
  );
  try {
    // One after the other, because with PORT=0 the first one chooses the port of all.
    let listening = '';
    for (const name of names) ({ listening } = await supervisor.start({ name, start: startOne }));
    announce(listening);
  } catch {
    // The process has printed why.
    await supervisor.stop(names);
    process.exit(1);
  }
}

async function startOne(): Promise<RunningChild & { listening: string }> {
  // A process ends with this one by its own channel to it.
  const worker = cluster.fork({ TOLLGATE_PARENT_PIPE: '' });
  const exited = new Promise<string>((resolve) => {
    worker.once('exit', (code, signal) => resolve(signal ? `was ended by ${signal}` : `ended with code ${code}`));
  });
  const ready = Promise.withResolvers<string>();
  worker.on('message', (message: ProcessMessage) => {
    if (message.kind === 'ready') ready.resolve(message.listening);
    if (message.kind === 'page_wanted') void answerPage(worker, message.id);
  });
  void exited.then((how) => ready.reject(new Error(how)));
  const stop = async (): Promise<void> => {
    worker.process.kill('SIGTERM');
    await exited;
  };
  return { pid: worker.process.pid ?? 0, exited, stop, listening: await ready.promise };
}

/** A process that does not answer for this time is left out. */
const valuesWaitMs = 1_000;
let lastId = 0;

/** Sends one process the metrics of all, added up. */
async function answerPage(to: Worker, id: number): Promise<void> {
  const workers = Object.values(cluster.workers ?? {}).flatMap((worker) => (worker?.isConnected() ? [worker] : []));
  const page = await pageOfAll(await Promise.all(workers.map(askValues)));
  if (to.isConnected()) send(to, { kind: 'page', id, page });
}

function askValues(worker: Worker): Promise<MetricValues> {
  const id = ++lastId;
  return new Promise((resolve) => {
    const settle = (values: MetricValues): void => {
      clearTimeout(timer);
      worker.off('message', onMessage);
      resolve(values);
    };
    const onMessage = (message: ProcessMessage): void => {
      if (message.kind === 'values' && message.id === id) settle(message.values);
    };
    const timer = setTimeout(() => settle([]), valuesWaitMs);
    worker.on('message', onMessage);
    send(worker, { kind: 'values_wanted', id });
  });
}

/** A process that has just died gets nothing, and its exit is told by itself. Without a function to tell it, Node would throw here. */
const send = (worker: Worker, message: ProcessMessage): void => void worker.send(message, () => undefined);

/**
 * The metrics of all API processes, for one of them. A process that runs alone, and one whose first process does not answer, has
 * its own.
 */
export function sharedMetrics(own: Pick<Metrics, 'page' | 'values'>): () => Promise<string> {
  if (!cluster.isWorker) return () => own.page();
  const waiting = new Map<number, (page: string) => void>();
  process.on('message', (message: ProcessMessage) => {
    if (message.kind === 'values_wanted') void tellValues(own, message.id);
    if (message.kind === 'page') waiting.get(message.id)?.(message.page);
  });
  return () => {
    const id = ++lastId;
    return new Promise<string>((resolve) => {
      const timer = setTimeout(() => resolve(own.page()), 2 * valuesWaitMs);
      waiting.set(id, (page) => {
        clearTimeout(timer);
        resolve(page);
      });
      tellPrimary({ kind: 'page_wanted', id });
    }).finally(() => waiting.delete(id));
  };
}

const tellValues = async (own: Pick<Metrics, 'values'>, id: number): Promise<void> =>
  tellPrimary({ kind: 'values', id, values: await own.values() });

/** Tells the supervisor, or the first process where there are several, that this API server is ready. */
export const announceApi = (listening: string): void =>
  cluster.isWorker ? tellPrimary({ kind: 'ready', listening }) : announce(listening);

const tellPrimary = (message: ProcessMessage): void => void process.send?.(message);
