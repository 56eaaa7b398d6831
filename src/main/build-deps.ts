import { createUpstreamCaller, type UpstreamTimeouts } from '../channels/call-upstream.ts';
import { createAdapters } from '../channels/registry.ts';
import { createCatalogCache } from '../caches/catalog-cache.ts';
import { createChannelCache } from '../caches/channel-cache.ts';
import { createKeyCache } from '../caches/key-cache.ts';
import type { Config } from '../config/load-config.ts';
import { openDatabase } from '../db/database.ts';
import { ChatLedger } from '../db/chat-ledger.ts';
import { Ledger } from '../db/ledger.ts';
import { RateLimiter } from '../db/rate-limiter.ts';
import { listenForChanges } from '../db/listen.ts';
import type { Deps } from '../deps.ts';
import { createMemoryBudget } from '../platform/memory-budget.ts';
import { describeError } from '../platform/observe/describe-error.ts';
import { armCrashPoint } from '../platform/crash-point.ts';
import { createEgress } from '../platform/egress/egress.ts';
import { createFileStore } from '../platform/files/file-store.ts';
import { createLogger } from '../platform/observe/logger.ts';
import { createMetrics } from '../platform/observe/metrics.ts';
import { createSealer } from '../platform/crypto/seal.ts';
import { createWorkflowClient, type TemporalAccess } from '../platform/temporal/workflow-client.ts';
import { createFileUrls } from './file-urls.ts';

export interface Built {
  deps: Deps;
  /** Flushes the ledger and closes every connection. */
  close: () => Promise<void>;
}

/** How to reach Temporal, by the configuration. */
export const temporalAccess = ({
  address,
  namespace,
  apiKey,
  caFile,
  certFile,
  keyFile,
}: Config['temporal']): TemporalAccess => ({
  address,
  namespace,
  apiKey,
  tls: { caFile, certFile, keyFile },
});

/** The timeouts of upstream calls, by the configuration. A call may set its own. */
export const upstreamPatience = (attempts: Config['attempts']): UpstreamTimeouts => ({
  connectMs: attempts.connectTimeoutSeconds * 1000,
  headersMs: attempts.headersTimeoutSeconds * 1000,
  idleBodyMs: attempts.idleTimeoutSeconds * 1000,
  totalMs: attempts.submitTimeoutSeconds * 1000,
});

/** How stale a cache may be if no notification reaches this process. */
const cacheWithoutNotifyMs = 5_000;

/** Builds the dependencies of a process. */
export async function buildDeps(config: Config, name: string): Promise<Built> {
  const logger = createLogger(config.logging.level, name);
  const db = openDatabase({
    url: config.database.url,
    poolMax: config.database.poolMax,
    connectTimeoutMs: config.database.connectTimeoutMs,
    statementTimeoutMs: config.database.statementTimeoutMs,
    // The pool attaches its whole client to the error.
    onIdleError: (error) => logger.warn({ error: describeError(error) }, 'a database connection was lost'),
  });
  const egress = createEgress(config.egress);
  for (const warning of egress.warnings) logger.warn({ alarm: true }, warning);
  if (config.development.crashPoint !== null) {
    armCrashPoint(config.development.crashPoint);
    logger.warn(
      { alarm: true, ...config.development.crashPoint },
      'CRASH_POINT: this process will kill itself. Development only.',
    );
  }
  const caller = createUpstreamCaller(upstreamPatience(config.attempts));
  const catalog = createCatalogCache(db, cacheWithoutNotifyMs);
  const metrics = createMetrics();
  const channels = createChannelCache(db, 2_000, config.breaker, { logger, metrics });
  const keys = createKeyCache(db, config.secrets.keyPeppers, config.keys.cacheSeconds * 1000);
  const listener = listenForChanges({
    url: config.database.listenUrl === '' ? config.database.url : config.database.listenUrl,
    logger,
    onChange: (table) => {
      if (table === 'model') catalog.forget();
      else if (table === 'channel' || table === 'channel_health') channels.forget();
      else keys.forget();
    },
  });
  const workflows = createWorkflowClient(temporalAccess(config.temporal));
  // At least the statement timeout plus the time that the answer may take beyond it.
  const patienceMs = config.database.statementTimeoutMs + 1_000;
  const ledger = new Ledger(db, {
    membersMax: config.tasks.createBatchMax,
    inFlightPerProjectMax: config.tasks.inFlightPerProjectMax,
    patienceMs,
  });
  const chatBatches = { membersMax: config.chat.batchMax, patienceMs };
  const chatLedger = new ChatLedger(db, chatBatches);
  const rateLimiter = new RateLimiter(db, chatBatches);
  const deps: Deps = {
    config,
    logger,
    db,
    ledger,
    chatLedger,
    rateLimiter,
    catalog,
    channels,
    keys,
    adapters: createAdapters(caller),
    egress,
    files: await createFileStore(config.files),
    inputMemory: createMemoryBudget(config.inputs.bufferedMaxBytes),
    urls: createFileUrls(config),
    sealer: createSealer(config.secrets.masterKeys),
    metrics,
    workflows,
  };
  return {
    deps,
    async close() {
      await Promise.all([ledger.flush(), chatLedger.flush(), rateLimiter.flush()]);
      await listener.close();
      await workflows.close();
      await Promise.all([caller.close(), egress.close()]);
      await db.close();
    },
  };
}
