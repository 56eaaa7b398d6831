import { setTimeout as delay } from 'node:timers/promises';
import { jobIntervals } from '../commands/jobs/job-table.ts';
import type { Deps } from '../deps.ts';

const timeoutMs = 10_000;

/**
 * Sees to it that Temporal has our namespace, search attributes and Schedules: a wiped one has none of them. True when all is
 * there; what is in the way is logged, and the next look tries again.
 */
export async function ensureTemporal({ config, logger, workflows }: Deps): Promise<boolean> {
  const schedules = jobIntervals(config).map((job) => ({
    ...job,
    heartbeatTimeoutMs: config.jobs.leaseSeconds * 1_000,
  }));
  const troubles = await workflows.ensureServer(schedules, timeoutMs);
  for (const { what, error } of troubles) logger.warn({ err: error }, `${what} could not be ensured`);
  return troubles.length === 0;
}

/** For the start of a worker: a new namespace is known to all parts of the server only after a moment. */
export async function ensureTemporalPatiently(deps: Deps): Promise<void> {
  for (let tries = 1; tries <= startTries; tries++) {
    if (await ensureTemporal(deps)) return;
    await delay(1_000);
  }
}

/** Then the worker goes on as it is: where it may not look, as on a hosted server, an operator has made all this. */
const startTries = 5;
