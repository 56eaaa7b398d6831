import { assertSchemaVersion } from '../db/migrate.ts';
import { meetPooler } from '../db/pooler.ts';
import { within } from '../platform/pause.ts';
import { beginQuietly, createQuietWatch } from '../services/restore/quiet.ts';
import { createApp } from '../http/app.ts';
import { metricsRoute } from '../http/routes/metrics.ts';
import { startHttpServer } from '../http/server/server.ts';
import { buildDeps } from './build-deps.ts';
import { announce, configOrExit, doneOrExit, stopOnSignals, warnOfIgnoredSettings } from './run-process.ts';
import { startLoops } from './worker-loops.ts';
import { watchProcess } from './watch-process.ts';
import { createWorkers, type Workers } from './temporal-workers.ts';
import { alarmOf } from '../domain/operators/alarm.ts';

const config = configOrExit();
const poolerTrouble = await doneOrExit(() => meetPooler(config.database.url));
const { deps, tracing, close, flushAlarms } = await doneOrExit(() => buildDeps(config, 'worker'));
const { logger, db } = deps;
warnOfIgnoredSettings(logger);
if (poolerTrouble !== null) logger.warn(poolerTrouble);
await doneOrExit(() => assertSchemaVersion(db));
await doneOrExit(() => beginQuietly(deps));

const temporalAnswersWithinMs = 900;
/** For the current turns of the loops, after the activities have ended. */
const loopsWaitMs = 10_000;
let workers: Workers | null = null;
let running: Promise<'drained' | 'cut_short'> = Promise.resolve('drained');
const draining = new AbortController();
const healthListener = await startHealthListener();
// The loops start before Temporal has answered, because they must work without it.
const quiet = createQuietWatch(deps);
const loops = startLoops(deps, quiet);
const endWatch = watchProcess(deps);
stopOnSignals(
  async () => {
    healthListener?.stopping();
    // Both at the same time: a slow turn of a loop must not let the workers take new activities.
    draining.abort();
    endWatch();
    workers?.shutdown();
    const stopped = loops.stop();
    const end = await running;
    // A turn that still runs, such as a long maintenance, is taken up again after its lease.
    await within(loopsWaitMs, stopped);
    if (end === 'drained') await workers?.close();
    else logger.warn('activities were still running at the end of the shutdown: other workers resume them');
    await close();
    await healthListener?.close();
  },
  (error) => {
    logger.fatal({ err: error, ...alarmOf('worker_stopped') }, 'the worker stops because of an error');
    return flushAlarms();
  },
);

workers = await createWorkers({ deps, tracing, draining: draining.signal, quiet });
running = workers.run();
announce(null);
logger.info('the worker is running');
await running.catch(async (error: unknown) => {
  logger.fatal({ err: error, ...alarmOf('temporal_worker_failed') }, 'a Temporal worker failed');
  await flushAlarms();
  process.exit(1);
});

/**
 * Serves `/livez`, `/readyz` and `/metrics` on WORKER_HEALTH_PORT until the process ends. Ready means that the database has the
 * expected schema, every worker polls its queue, and Temporal answers.
 */
async function startHealthListener(): Promise<{ stopping(): void; close(): Promise<void> } | null> {
  if (config.worker.healthPort === null) return null;
  const isReady = async (): Promise<boolean> => {
    if (!(await workers?.isReady(temporalAnswersWithinMs))) return false;
    await assertSchemaVersion(db, { acceptNewer: true });
    return true;
  };
  // Temporal's own metrics exist once its workers do.
  const page = async (): Promise<string> =>
    (await Promise.all([deps.metrics.page(), workers?.metrics()])).filter(Boolean).join('\n');
  const app = createApp({ ...deps, authenticate: () => Promise.resolve(null), isReady }, [metricsRoute({ page })]);
  const server = await startHttpServer(app, {
    host: config.http.host,
    port: config.worker.healthPort,
    config: { ...config.http, shutdownReadyDelaySeconds: 0 },
  });
  logger.info({ url: server.url }, 'the health listener is ready');
  return { stopping: () => void app.emit('stopping'), close: () => server.close({ drainSeconds: 1 }) };
}
