import cluster from 'node:cluster';
import { createTaskAdmission } from '../services/tasks/create/task-admission.ts';
import { createDetailRecorder } from '../services/requests/detail-recorder.ts';
import { createStorageGuard } from '../services/files/storage-guard.ts';
import { UPLOAD_STORED_MAX_BYTES } from '../services/files/upload-image.ts';
import { createEarlyHangUps } from '../services/chat/state/early-hang-ups.ts';
import { createLostChats } from '../services/chat/state/lost-chats.ts';
import { createRetryBudget } from '../services/chat/state/retry-budget.ts';
import { createLiveChats } from '../services/chat/state/live-chats.ts';
import { createUndeliveredChats } from '../services/chat/state/undelivered-chats.ts';
import { createSignedFiles } from '../services/files/open-signed-file.ts';
import { ensureDetailPartitions } from '../db/detail-rows.ts';
import { assertSchemaVersion } from '../db/migrate.ts';
import { meetPooler } from '../db/pooler.ts';
import { createApp } from '../http/app.ts';

import { consoleRoutes } from '../http/console/console-routes.ts';
import { createAnswerMemory } from '../http/middleware/hold-answers.ts';
import { createRoutes } from '../http/create-routes.ts';
import { metricsRoute } from '../http/routes/metrics.ts';
import { startHttpServer } from '../http/server/server.ts';
import { createTaskWaits } from '../http/response/task-waits.ts';
import { createFairBudget } from '../platform/fair-budget.ts';
import { createImageDecoder } from '../platform/media/decode-image.ts';
import { createAdminApi } from './admin-api.ts';
import { buildDeps } from './build-deps.ts';
import { announceApi, sharedMetrics } from './api-processes.ts';
import { createInstallationGauges } from './installation-gauges.ts';
import { configOrExit, doneOrExit, stopOnSignals, warnOfIgnoredSettings } from './run-process.ts';
import { statementTraces } from './trace-deps.ts';
import { watchProcess } from './watch-process.ts';
import { alarmOf } from '../domain/operators/alarm.ts';

const config = configOrExit();
const poolerTrouble = await doneOrExit(() => meetPooler(config.database.url));
const { deps, tracing, close, flushAlarms } = await doneOrExit(() => buildDeps(config, 'api'));
const { logger, db } = deps;
if (cluster.isPrimary) warnOfIgnoredSettings(logger);
if (poolerTrouble !== null) logger.warn(poolerTrouble);
await doneOrExit(() => assertSchemaVersion(db));

// Missing partitions must not prevent the start: the detail rows are lost and counted.
await ensureDetailPartitions(db).catch((error: unknown) => {
  logger.warn(
    { err: error, ...alarmOf('detail_partitions_missing') },
    'the partitions of API details could not be created',
  );
});
const details = createDetailRecorder(deps);
const undelivered = createUndeliveredChats(deps);
const liveChats = createLiveChats(deps);
const lostChats = createLostChats(deps);
/** Chat calls on further channels may be this share of all chats of a minute, so that retries add at most this share to the load. */
const RETRY_SHARE = 0.2;
const adminApi = createAdminApi(deps, tracing ? statementTraces(tracing) : undefined);
const httpDeps = {
  ...deps,
  adminAccess: adminApi.access,
  tracing: tracing ?? undefined,
  recordDetail: (row: Parameters<typeof details.record>[0]) => details.record(row),
  admission: createTaskAdmission(deps),
  storage: createStorageGuard(deps),
  earlyHangUps: createEarlyHangUps(),
  lostChats,
  retryBudget: createRetryBudget({ floor: config.chat.retriesPerMinuteMin, share: RETRY_SHARE }),
  undelivered,
  liveChats,
  taskWaits: createTaskWaits({ total: config.tasks.waitsMax }),
  streamSlots: createFairBudget({
    total: config.chat.streamsMax,
    message: 'The server is streaming too many answers at the same time. Try again in a few seconds.',
    retryAfterSeconds: 5,
  }),
  decodeImage: createImageDecoder({
    // Each picture has its own process, which may take `memoryBytesMax` and a whole core.
    concurrencyMax: 2,
    waitingMax: 32,
    timeoutSeconds: 10,
    pixelsMax: 40_000_000,
    // By measurement: 9 megapixels of lossy WebP, 5 of other WebP, 14 to 24 of progressive JPEG.
    memoryBytesMax: 110_000_000,
    bytesMax: UPLOAD_STORED_MAX_BYTES,
  }),
  authenticate: (secret: string) => deps.keys.find(secret),
  isReady: async () => {
    await assertSchemaVersion(db, { acceptNewer: true });
    return true;
  },
  signedFiles: createSignedFiles(deps),
};
// A stream gives its slot among the requests back.
deps.metrics.watchRequests(() => httpDeps.streamSlots.held());
const routes = createRoutes(httpDeps);
const answerMemory = createAnswerMemory();
/** The longest time that the caller of a job waits. The run itself continues in a worker. */
const adminDrainSeconds = 10;
const isInternal = ({ path }: { path: string }): boolean => path.startsWith('/api/internal/');
const admin = await startAdminListener();
// The paths of the internal routes are relative to the base URL (spec §4), so the public port has them unless an operator wants otherwise.
const publicRoutes =
  admin && config.http.scheduledJobsOnAdminPortOnly ? routes.filter((route) => !isInternal(route)) : routes;
// Without a listener of their own, the admin API and the console are served in development only.
const isAdminPublic = admin === null && config.development.sandboxUrl !== '';
const app = createApp(httpDeps, [...publicRoutes, ...(isAdminPublic ? consoleRoutes() : [])], {
  probes: admin === null,
  later: isAdminPublic ? adminApi.routes : undefined,
  answerMemory,
});
const server = await startHttpServer(app, { host: config.http.host, port: config.http.port, config: config.http });
logger.info({ url: server.url }, 'the API server is ready');
announceApi(server.url);
const endWatch = watchProcess(deps);

stopOnSignals(
  async () => {
    admin?.stopping();
    // Their clients ask again, and reach another process.
    httpDeps.taskWaits.stop();
    await server.close({
      drainSeconds: config.http.shutdownDrainSeconds,
      interrupt: () => {
        liveChats.interrupt();
        lostChats.stop();
      },
    });
    liveChats.close();
    endWatch();
    await admin?.close();
    await Promise.all([details.close(), undelivered.close(), adminApi.close()]);
    await close();
  },
  (error) => {
    logger.fatal({ err: error, ...alarmOf('api_stopped') }, 'the API server stops because of an error');
    return flushAlarms();
  },
);

/**
 * With ADMIN_PORT: serves the internal routes, the admin API, the console, health probes and metrics on a port of their own, and the
 * client routes, which the playground of the console calls. It answers until the public
 * listener has drained, so that load balancers notice the stop.
 */
async function startAdminListener(): Promise<{ stopping(): void; close(): Promise<void> } | null> {
  if (config.http.adminPort === null) return null;
  const processes = sharedMetrics(deps.metrics);
  const installation = createInstallationGauges(deps);
  const page = async (): Promise<string> => (await Promise.all([processes(), installation.page()])).join('\n');
  const adminApp = createApp(httpDeps, [...routes, ...consoleRoutes(), metricsRoute({ page })], {
    later: adminApi.routes,
    answerMemory,
  });
  const listener = await startHttpServer(adminApp, {
    host: config.http.adminHost || config.http.host,
    port: config.http.adminPort,
    config: { ...config.http, shutdownReadyDelaySeconds: 0 },
  });
  logger.info({ url: listener.url }, 'the admin listener is ready');
  return {
    stopping: () => void adminApp.emit('stopping'),
    close: () => listener.close({ drainSeconds: adminDrainSeconds }),
  };
}
