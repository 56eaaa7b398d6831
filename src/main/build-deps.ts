import { createUpstreamCaller } from '../adapters/upstream/call-upstream.ts';
import { createAdapters } from '../adapters/registry.ts';
import { createCatalogCache } from '../caches/catalog-cache.ts';
import { CHANNELS_KEPT_MS, createChannelCache } from '../channels/channel-cache.ts';
import { createTaskAnswers } from '../caches/task-answers.ts';
import { createLedgerWatch } from '../caches/ledger-watch.ts';
import { createTaskWatch } from '../caches/task-watch.ts';
import { createKeyCache } from '../caches/key-cache.ts';
import { createSilences, type Silences } from '../caches/silences.ts';
import { createSendSlots } from '../platform/send-slots.ts';
import { probeChannel } from '../services/channels/free-calls.ts';
import type { Config } from '../config/load-config.ts';
import { createAlarmRecorder } from '../db/operators/alarm-recorder.ts';
import type { ChannelRow } from '../db/channels/channels.ts';
import { openDatabase, type Database } from '../db/database.ts';
import { ChatLedger } from '../db/chat/chat-ledger.ts';
import { createEndAnnouncer } from '../db/tasks/end-announcer.ts';
import { Ledger, type LedgerOptions } from '../db/ledger/ledger.ts';
import { RateLimiter } from '../db/projects/rate-limiter.ts';
import { TaskReader } from '../db/tasks/task-reader.ts';
import { listenForChanges } from '../db/listen.ts';
import type { Deps } from '../deps.ts';
import { createMemoryBudget } from '../platform/memory-budget.ts';
import { describeError } from '../platform/observe/describe-error.ts';
import { armCrashPoint } from '../platform/crash-point.ts';
import { createEgress } from '../platform/egress/egress.ts';
import { createFileStore } from '../platform/files/file-store.ts';
import { alarmKind, createAlarms, type LoggedAlarm } from '../platform/observe/alarms.ts';
import { createLogger, type LogDestination, type Logger } from '../platform/observe/logger.ts';
import { createMetrics } from '../platform/observe/metrics.ts';
import { noTracer, type Tracing } from '../platform/observe/tracer.ts';
import { createSealer } from '../platform/crypto/seal.ts';
import { within } from '../platform/pause.ts';
import { createWorkflowClient, type TemporalAccess } from '../platform/temporal/workflow-client.ts';
import { PdfMeter } from '../platform/pdf/pdf-meter.ts';
import { createTokenCounter } from '../platform/tokens/token-counter.ts';
import { alarmSenders } from './alarm-senders.ts';
import { createFileUrls } from './file-urls.ts';
import { startTracing } from './start-tracing.ts';
import { createGenAiMetrics } from './gen-ai.ts';
import { statementTraces, wrapsOf, type Wraps } from './trace-deps.ts';
import { alarmOf } from '../domain/operators/alarm.ts';

export interface Built {
  deps: Deps;
  /** Null where traces are off. */
  tracing: Tracing | null;
  /** Waits until alarms are sent, for two seconds at most. For the last line of a process. */
  flushAlarms: () => Promise<void>;
  /** Flushes the ledger and closes every connection. */
  close: () => Promise<void>;
}

/** How to reach Temporal, by the configuration. */
export const temporalAccess = ({ caFile, certFile, keyFile, ...server }: Config['temporal']): TemporalAccess => ({
  ...server,
  tls: { caFile, certFile, keyFile },
});

/** How stale a cache may be if no notification reaches this process. */
const cacheWithoutNotifyMs = 5_000;

/** How long a revoked key may still read. It spends nothing: every reservation checks the key in the database. */
const keyCacheMs = 2_000;
/** Chats that are admitted or settled in one commit. */
const chatBatchMax = 128;

/** What a process that ends gives its alarms, also without a database. */
const flushMs = 2_000;

/** Tasks that one statement reads. */
const tasksReadMax = 128;

/** Builds the dependencies of a process. `log` gets its log lines instead of standard error. */
export async function buildDeps(config: Config, name: string, log?: LogDestination): Promise<Built> {
  const tracing = await startTracing(config.traces, name, (trouble) =>
    logger.warn(trouble, 'traces could not be sent'),
  );
  const db = openDatabase({
    ...config.database,
    ...(tracing && { traces: statementTraces(tracing) }),
    // The pool attaches its whole client to the error.
    onIdleError: (error) => logger.warn({ error: describeError(error) }, 'a database connection was lost'),
  });
  const { metrics, silences, logger, flushAlarms } = buildObservers({ config, name, log, tracing }, db);
  const wraps = tracing ? wrapsOf(tracing, createGenAiMetrics(metrics.registry)) : noWraps;
  const egress = wraps.egress(createEgress(config.egress));
  armForDevelopment(config.development.crashPoint, egress.warnings, logger);
  const caller = wraps.caller(createUpstreamCaller({ totalMs: config.attempts.submitTimeoutSeconds * 1000 }));
  const catalog = createCatalogCache(db, cacheWithoutNotifyMs);
  metrics.watchPool(() => db.poolUse());
  const adapters = wraps.adapters(createAdapters(caller));
  const sealer = createSealer(config.secrets.masterKeys);
  const probe = (channel: ChannelRow) => probeChannel({ sealer, adapters }, channel);
  const channels = createChannelCache(db, CHANNELS_KEPT_MS, config.breaker, { logger, probe });
  const keys = createKeyCache(db, config.secrets.keyPeppers, keyCacheMs);
  const taskAnswers = createTaskAnswers(() => listener.isCurrent());
  const watches = { taskWatch: createTaskWatch(db, logger), ledgerWatch: createLedgerWatch(db, logger) };
  const listener = listenForChanges({
    url: config.database.listenUrl === '' ? config.database.url : config.database.listenUrl,
    logger,
    onChange: (table, ids) => tellCaches({ taskAnswers, ...watches, catalog, channels, keys, silences }, table, ids),
  });
  const workflows = createWorkflowClient(temporalAccess(config.temporal), tracing ? [tracing.temporal.client] : []);
  const ends = createEndAnnouncer(db, logger);
  const batched = openBatched(config, db, {
    tracing,
    hasEnded: (taskId, end) => {
      ends.announce(taskId);
      metrics.taskEnded(end);
    },
  });
  const deps: Deps = {
    config,
    logger,
    db,
    ...batched,
    ledger: wraps.ledger(batched.ledger),
    chatLedger: wraps.chatLedger(batched.chatLedger),
    taskAnswers,
    ...watches,
    catalog,
    channels,
    keys,
    adapters,
    egress,
    files: await createFileStore(config.files),
    inputMemory: createMemoryBudget(config.inputs.bufferedMaxBytes),
    callbackSlots: createSendSlots(),
    urls: createFileUrls(config),
    sealer,
    metrics,
    tracer: tracing ?? noTracer,
    tokenCounter: createTokenCounter(),
    pdfMeter: new PdfMeter(),
    workflows,
  };
  return {
    deps,
    tracing,
    flushAlarms,
    async close() {
      await Promise.all([...Object.values(batched), channels].map((calls) => calls.flush()));
      await ends.flush();
      for (const watch of Object.values(watches)) watch.close();
      await listener.close();
      await workflows.close();
      await Promise.all([caller.close(), egress.close(), deps.tokenCounter.close(), deps.pdfMeter.close()]);
      await flushAlarms();
      await db.close();
      await tracing?.close();
    },
  };
}

const same = <T>(dependency: T): T => dependency;
const noWraps: Wraps = { caller: same, adapters: same, egress: same, ledger: same, chatLedger: same };

/** What groups concurrent calls into one statement. */
function openBatched(
  { database, tasks }: Config,
  db: Database,
  { tracing, hasEnded }: Pick<Built, 'tracing'> & Pick<LedgerOptions, 'hasEnded'>,
): Pick<Deps, 'ledger' | 'chatLedger' | 'taskReader' | 'rateLimiter'> {
  // At least the statement timeout plus the time that the answer may take beyond it.
  const limits = { patienceMs: database.statementTimeoutMs + 1_000, ...(tracing && { traces: tracing }) };
  return {
    ledger: new Ledger(db, { ...limits, membersMax: tasks.createBatchMax, ...(hasEnded && { hasEnded }) }),
    chatLedger: new ChatLedger(db, { ...limits, membersMax: chatBatchMax }),
    taskReader: new TaskReader(db, { ...limits, membersMax: tasksReadMax }),
    rateLimiter: new RateLimiter(db, { ...limits, membersMax: chatBatchMax }),
  };
}

interface Observers extends Pick<Deps, 'metrics' | 'logger'> {
  silences: Silences;
  flushAlarms: Built['flushAlarms'];
}

/**
 * The log of a process. Its alarms are also counted, noted for the lists of operators, and sent unless a silence covers them. Lines of traced
 * work have their trace id.
 */
function buildObservers(
  options: { config: Config; name: string; log: LogDestination | undefined } & Pick<Built, 'tracing'>,
  db: Database,
): Observers {
  const { config, name, log, tracing } = options;
  const metrics = createMetrics();
  const silences = createSilences(db, cacheWithoutNotifyMs);
  const recorder = createAlarmRecorder(db);
  const alarms = createAlarms({
    repeatMs: config.alarms.repeatSeconds * 1000,
    ways: alarmSenders(config.alarms, name),
    isSilenced: (alarm) => silences.cover(alarm),
    onLost: (error) => logger.warn({ err: error }, 'an alarm could not be sent'),
  });
  const onAlarm = (alarm: LoggedAlarm): void => {
    const kind = alarmKind(alarm);
    metrics.alarm(kind.name);
    recorder.record({ ...kind, message: alarm.message, level: alarm.level });
    alarms.raise(alarm);
  };
  const traceId = tracing ? () => ({ trace_id: tracing.traceId() }) : undefined;
  const logger = createLogger(config.logging.level, name, log, onAlarm, traceId);
  const flushAlarms = async (): Promise<void> => {
    await within(flushMs, Promise.all([recorder.flush(), alarms.flush()]));
  };
  return { metrics, silences, logger, flushAlarms };
}

/** Logs an alarm for what must not be set in production, and arms the crash point. */
function armForDevelopment(
  crashPoint: Config['development']['crashPoint'],
  egressWarnings: readonly string[],
  logger: Logger,
): void {
  for (const warning of egressWarnings) logger.warn(alarmOf('egress_open'), warning);
  if (crashPoint === null) return;
  armCrashPoint(crashPoint);
  logger.warn(
    { ...alarmOf('crash_point_armed'), ...crashPoint },
    'CRASH_POINT: this process will kill itself. Development only.',
  );
}

const channelTables: ReadonlySet<string> = new Set([
  'channel',
  'channel_credential',
  'channel_health',
  'channel_mapping_state',
]);

/** Passes a notification of `listenForChanges` on. A table that no cache knows may mean a key, of which the answer must be right soonest. */
function tellCaches(
  {
    taskAnswers,
    taskWatch,
    catalog,
    channels,
    keys,
    silences,
  }: Pick<Deps, 'taskAnswers' | 'taskWatch' | 'catalog' | 'channels' | 'keys'> & { silences: Silences },
  table: string,
  ids: readonly string[],
): void {
  if (table === 'task') taskAnswers.forget(ids);
  else if (table === 'ended') taskWatch.announce(ids);
  else if (table === 'model') catalog.forget();
  else if (channelTables.has(table)) channels.forget();
  else if (table === 'alarm_silence') silences.forget();
  else keys.forget();
}
