import {
  GracefulShutdownPeriodExpiredError,
  NativeConnection,
  Runtime,
  Worker,
  type RuntimeOptions,
  type WorkerOptions,
} from '@temporalio/worker';
import { get } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { createActivities } from '../activities/index.ts';
import { createContractCache } from '../caches/contract-cache.ts';
import type { Deps } from '../deps.ts';
import { scheduledJobNames } from '../domain/tasks/scheduled-job.ts';
import { taskQueues } from '../domain/tasks/workflow-contract.ts';
import type { Tracing } from '../platform/observe/tracer.ts';
import { temporalConnectionOptions } from '../platform/temporal/workflow-client.ts';
import type { QuietWatch } from '../services/restore/quiet.ts';
import { temporalAccess } from './build-deps.ts';
import { ensureTemporalPatiently } from './ensure-temporal.ts';
import { choosePort } from './processes/choose-port.ts';
import { workflowBundle } from './workflow-bundle.ts';

export interface Workers {
  /**
   * Resolves when all have drained after `shutdown`; to `cut_short` if some activities still ran after `WORKER_SHUTDOWN_FORCE_SECONDS`, which
   * Temporal gives to other workers. Rejects if a worker fails.
   */
  run(): Promise<'drained' | 'cut_short'>;
  /** Takes no more work. */
  shutdown(): void;
  /** Whether all workers poll their queues and Temporal answers within `timeoutMs`. */
  isReady(timeoutMs: number): Promise<boolean>;
  /** The metrics of Temporal's own code in Prometheus' text format; empty if it does not answer. */
  metrics(): Promise<string>;
  close(): Promise<void>;
}

interface WorkersOptions {
  deps: Deps;
  tracing: Tracing | null;
  /** Once it has fired, no attempt begins. */
  draining: AbortSignal;
  quiet: QuietWatch;
}

/** The workers of one process, one for each task queue, so that no kind of work waits for another. */
export async function createWorkers({ deps, tracing, draining, quiet }: WorkersOptions): Promise<Workers> {
  const { config } = deps;
  const metrics = await startRuntime(deps);
  const bundle = await workflowBundle({ traced: tracing !== null });
  const connection = await connectPatiently(deps);
  await ensureTemporalPatiently(deps);
  const activities = createActivities({ ...deps, isContracted: createContractCache(deps.db) }, draining, quiet);
  const { planTask, drawChannels, drawAgain, finishTask, attempt, deliver, runJob } = activities;
  const common = {
    connection,
    namespace: config.temporal.namespace,
    shutdownGraceTime: config.worker.shutdownGraceSeconds * 1000,
    shutdownForceTime: config.worker.shutdownForceSeconds * 1000,
    ...tracing?.temporal.worker,
  } satisfies Partial<WorkerOptions>;
  const workers = await Promise.all([
    Worker.create({
      ...common,
      taskQueue: taskQueues.tasks,
      workflowBundle: bundle,
      activities: { planTask, drawChannels, drawAgain, finishTask },
      maxConcurrentLocalActivityExecutions: 100,
      // A cached workflow takes a quarter of a megabyte. One that waits for minutes is cheaper to replay than to keep, and 40 tasks a
      // second that take ten seconds each are 400.
      maxCachedWorkflows: 500,
    }),
    Worker.create({
      ...common,
      taskQueue: taskQueues.attempts,
      activities: { attempt },
      // Attempts mostly wait for the upstream. Each costs a timer and a few kilobytes.
      maxConcurrentActivityTaskExecutions: 2_000,
      maxHeartbeatThrottleInterval: '15 seconds',
    }),
    Worker.create({
      ...common,
      taskQueue: taskQueues.deliveries,
      activities: { planTask, drawChannels, drawAgain, finishTask, deliver, runJob },
      // A callback waits here for its turn (`createSendSlots`); so that one project never fills the queue, it waits a second.
      maxConcurrentActivityTaskExecutions: 1_000,
    }),
    Worker.create({
      ...common,
      taskQueue: taskQueues.money,
      activities: { planTask, drawChannels, drawAgain, finishTask },
      maxConcurrentActivityTaskPolls: rarePolls,
    }),
    Worker.create({
      ...common,
      taskQueue: taskQueues.scheduledJobs,
      activities: { runJob },
      // Each job runs once at a time in the whole installation.
      maxConcurrentActivityTaskExecutions: scheduledJobNames.length,
      maxConcurrentActivityTaskPolls: rarePolls,
    }),
  ]);
  return {
    run: () => runAll(workers),
    shutdown: () => workers.forEach((worker) => worker.getState() === 'RUNNING' && worker.shutdown()),
    async isReady(timeoutMs) {
      if (workers.some((worker) => worker.getState() !== 'RUNNING')) return false;
      const { namespace } = common;
      return connection.withDeadline(Date.now() + timeoutMs, () =>
        connection.workflowService.describeNamespace({ namespace }).then(
          () => true,
          () => false,
        ),
      );
    },
    metrics,
    close: () => connection.close(),
  };
}

async function runAll(workers: readonly Worker[]): ReturnType<Workers['run']> {
  const runs = workers.map((worker) =>
    worker.run().then(
      () => 'drained' as const,
      (error: unknown) => {
        if (error instanceof GracefulShutdownPeriodExpiredError) return 'cut_short' as const;
        throw error;
      },
    ),
  );
  return (await Promise.all(runs)).includes('cut_short') ? 'cut_short' : 'drained';
}

/**
 * Starts Temporal's runtime, and returns how to read its metrics. It has no other way to give them away than a port, so with a listener
 * for metrics it takes a free one of this machine.
 */
async function startRuntime(deps: Deps): Promise<Workers['metrics']> {
  const own = { shutdownSignals: [], logger: temporalLogger(deps) };
  if (deps.config.worker.healthPort === null) {
    Runtime.install(own);
    return () => Promise.resolve('');
  }
  const taken = new Set<number>();
  const port = await installWithMetrics(own, () => choosePort(0, taken));
  return () => readPage(`http://127.0.0.1:${port}/metrics`);
}

/** Another process may take a port between its choice and its use, but hardly this many ports. */
const portsMax = 10;

/** Installs the runtime with its metrics on the first chosen port that is still free then, and returns that. */
export async function installWithMetrics(options: RuntimeOptions, choose: () => Promise<number>): Promise<number> {
  for (let tries = 1; ; tries++) {
    const port = await choose();
    const bindAddress = `127.0.0.1:${port}`;
    const prometheus = { bindAddress, countersTotalSuffix: true, unitSuffix: true, useSecondsForDurations: true };
    try {
      Runtime.install({ ...options, telemetryOptions: { metrics: { prometheus } } });
      return port;
    } catch (error) {
      const isTaken = error instanceof Error && /address already in use/i.test(error.message);
      if (!isTaken || tries === portsMax) throw error;
    }
  }
}

/** The page is in memory. */
const pageMs = 1_000;

function readPage(url: string): Promise<string> {
  return new Promise((resolve) => {
    get(url, { agent: false, signal: AbortSignal.timeout(pageMs) }, (answer) =>
      resolve(text(answer).catch(() => '')),
    ).on('error', () => resolve(''));
  });
}

/** For the queues that are nearly always empty. */
const rarePolls = 2;
const connectRetryMs = 1_000;

/** Temporal may start later than its workers, or be unavailable when a worker restarts. */
async function connectPatiently({ config, logger }: Deps): Promise<NativeConnection> {
  for (let tries = 1; ; tries++) {
    try {
      const options = temporalConnectionOptions(temporalAccess(config.temporal));
      // Compression on loopback would cost a tenth of the worker's CPU time.
      const grpcCompression = isLoopback(config.temporal.address)
        ? { grpcCompression: { codec: 'none' as const } }
        : {};
      return await NativeConnection.connect({ ...options, ...grpcCompression });
    } catch (error) {
      if (tries % 10 === 1) logger.warn({ err: error, tries }, 'Temporal does not answer yet');
      await delay(connectRetryMs);
    }
  }
}

const isLoopback = (address: string): boolean => /^(127\.|localhost:|\[::1\])/.test(address);

function temporalLogger({ logger }: Deps) {
  const sdk = logger.child({ name: 'temporal' });
  const at = (level: 'trace' | 'debug' | 'info' | 'warn' | 'error') => (message: string, meta?: object) =>
    sdk[level]({ ...meta }, message);
  const say = { trace: at('trace'), debug: at('debug'), info: at('debug'), warn: at('warn'), error: at('error') };
  return {
    ...say,
    log: (level: string, message: string, meta?: object) => {
      const name = level.toLowerCase();
      if (name in say) say[name as keyof typeof say](message, meta);
    },
  };
}
