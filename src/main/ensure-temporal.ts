import { setTimeout as delay } from 'node:timers/promises';
import { scheduledJobIntervals } from '../services/scheduled-jobs/scheduled-job-table.ts';
import type { Deps } from '../deps.ts';

const timeoutMs = 10_000;

/**
 * Creates Tollgate's namespace, search attributes and Schedules if Temporal lacks them, as after a wipe. True if all exist. Failures
 * are logged, and the next check tries again.
 */
export async function ensureTemporal({ config, logger, workflows }: Deps): Promise<boolean> {
  const schedules = scheduledJobIntervals(config.scheduledJobs).map((scheduledJob) => ({
    ...scheduledJob,
    heartbeatTimeoutMs: config.scheduledJobs.leaseSeconds * 1_000,
  }));
  const troubles = await workflows.ensureServer(schedules, timeoutMs);
  for (const { what, error } of troubles) logger.warn({ err: error }, `${what} could not be ensured`);
  return troubles.length === 0;
}

/** For the start of a worker: it takes a moment until all parts of the server know a new namespace. */
export async function ensureTemporalPatiently(deps: Deps): Promise<void> {
  for (let tries = 1; tries <= startTries; tries++) {
    if (await ensureTemporal(deps)) return;
    await delay(1_000);
  }
}

/** After this the worker starts anyway: on a hosted server it may not be allowed to check, and an operator has created everything. */
const startTries = 5;
