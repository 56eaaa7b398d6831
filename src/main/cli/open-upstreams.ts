import { createUpstreamCaller } from '../../adapters/upstream/call-upstream.ts';
import { createAdapters } from '../../adapters/registry.ts';
import { CHANNELS_KEPT_MS, createChannelCache } from '../../channels/channel-cache.ts';
import { probeChannel } from '../../services/channels/free-calls.ts';
import type { Config } from '../../config/load-config.ts';
import type { ChannelRow } from '../../db/channels/channels.ts';
import type { Database } from '../../db/database.ts';
import { Ledger } from '../../db/ledger/ledger.ts';
import type { Sealer } from '../../platform/crypto/seal.ts';
import { createLogger } from '../../platform/observe/logger.ts';
import { createMetrics } from '../../platform/observe/metrics.ts';
import { noTracer } from '../../platform/observe/tracer.ts';
import { createWorkflowClient } from '../../platform/temporal/workflow-client.ts';
import { temporalAccess } from '../build-deps.ts';

/** The parts that reach beyond the database. Each connects when it is first used. */
export function openUpstreams(config: Config, db: Database, sealer: Sealer) {
  const caller = createUpstreamCaller({ totalMs: config.attempts.submitTimeoutSeconds * 1000 });
  const logger = createLogger('warn', 'cli');
  const workflows = createWorkflowClient(temporalAccess(config.temporal));
  const adapters = createAdapters(caller);
  const probe = (channel: ChannelRow) => probeChannel({ sealer, adapters }, channel);
  const metrics = createMetrics();
  const ledger = new Ledger(db, { membersMax: config.tasks.createBatchMax });
  return {
    deps: {
      ledger,
      workflows,
      logger,
      metrics,
      tracer: noTracer,
      channels: createChannelCache(db, CHANNELS_KEPT_MS, config.breaker, { logger, probe }),
      adapters,
    },
    async close(): Promise<void> {
      await ledger.flush();
      await workflows.close();
      await caller.close();
    },
  };
}
