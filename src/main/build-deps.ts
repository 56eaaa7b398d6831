import { createUpstreamCaller, type UpstreamTimeouts } from '../channels/call-upstream.ts';
import { createAdapters } from '../channels/registry.ts';
import { createCatalogCache } from '../caches/catalog-cache.ts';
import { createChannelCache } from '../caches/channel-cache.ts';
import { createKeyCache } from '../caches/key-cache.ts';
import type { Config } from '../config.ts';
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
import { createSealer, deriveKeys } from '../platform/crypto/seal.ts';
import { createUrlSigner } from '../platform/crypto/signed-url.ts';
import { createWorkflowClient, type TemporalAccess } from '../platform/temporal/workflow-client.ts';

export interface Built {
  deps: Deps;
  /** Flushes the ledger and closes every connection. */
  close: () => Promise<void>;
}

/** How to reach Temporal, as the configuration has it. */
export const temporalAccess = (config: Config): TemporalAccess => ({
  address: config.TEMPORAL_ADDRESS,
  namespace: config.TEMPORAL_NAMESPACE,
  apiKey: config.TEMPORAL_API_KEY,
  tls: {
    caFile: config.TEMPORAL_TLS_CA_FILE,
    certFile: config.TEMPORAL_TLS_CERT_FILE,
    keyFile: config.TEMPORAL_TLS_KEY_FILE,
  },
});

/** How long a provider is waited for, as the configuration has it; a call may set limits of its own. */
export const upstreamPatience = (config: Config): UpstreamTimeouts => ({
  connectMs: config.UPSTREAM_CONNECT_TIMEOUT_SECONDS * 1000,
  headersMs: config.UPSTREAM_HEADERS_TIMEOUT_SECONDS * 1000,
  idleBodyMs: config.UPSTREAM_IDLE_TIMEOUT_SECONDS * 1000,
  totalMs: config.SUBMIT_TIMEOUT_SECONDS * 1000,
});

/** How stale a cache may be when no notification reaches this process. */
const cacheWithoutNotifyMs = 5_000;

/** Builds everything a process needs, once, by hand. */
export async function buildDeps(config: Config, name: string): Promise<Built> {
  const logger = createLogger(config.LOG_LEVEL, name);
  const db = await openDatabase({
    url: config.DATABASE_URL,
    poolMax: config.DATABASE_POOL_MAX,
    connectTimeoutMs: config.DATABASE_CONNECT_TIMEOUT_MS,
    statementTimeoutMs: config.DATABASE_STATEMENT_TIMEOUT_MS,
    // The pool hangs its whole client on the error.
    onIdleError: (error) => logger.warn({ error: describeError(error) }, 'a database connection was lost'),
  });
  const egress = createEgress({ allowCidrs: config.EGRESS_ALLOW_CIDRS, callbackPorts: config.CALLBACK_PORTS });
  for (const warning of egress.warnings) logger.warn({ alarm: true }, warning);
  if (config.CRASH_POINT !== null) {
    armCrashPoint(config.CRASH_POINT);
    logger.warn(
      { alarm: true, ...config.CRASH_POINT },
      'CRASH_POINT: this process will kill itself. Development only.',
    );
  }
  const caller = createUpstreamCaller(upstreamPatience(config));
  const catalog = createCatalogCache(db, cacheWithoutNotifyMs);
  const metrics = createMetrics();
  const channels = createChannelCache(db, 2_000, config, { logger, metrics });
  const keys = createKeyCache(db, config.KEY_PEPPERS, config.KEY_CACHE_SECONDS * 1000);
  const listener = listenForChanges({
    url: config.DATABASE_LISTEN_URL === '' ? config.DATABASE_URL : config.DATABASE_LISTEN_URL,
    logger,
    onChange: (table) => {
      if (table === 'model') catalog.forget();
      else if (table === 'channel' || table === 'channel_health') channels.forget();
      else keys.forget();
    },
  });
  const workflows = createWorkflowClient(temporalAccess(config));
  // No shorter than what a statement may take, and what its answer may take beyond that.
  const patienceMs = config.DATABASE_STATEMENT_TIMEOUT_MS + 1_000;
  const ledger = new Ledger(db, {
    membersMax: config.CREATE_BATCH_MAX,
    inFlightPerProjectMax: config.IN_FLIGHT_PER_PROJECT_MAX,
    patienceMs,
  });
  const chatBatches = { membersMax: config.CHAT_BATCH_MAX, patienceMs };
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
    files: await createFileStore(config),
    inputMemory: createMemoryBudget(config.INPUTS_BUFFERED_MAX_BYTES),
    urls: createUrlSigner({
      keys: deriveKeys(config.MASTER_KEYS, 'file-urls'),
      baseUrl: config.PUBLIC_BASE_URL === '' ? `http://${config.HOST}:${config.PORT}` : config.PUBLIC_BASE_URL,
    }),
    sealer: createSealer(config.MASTER_KEYS),
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
