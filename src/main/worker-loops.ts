import { probeUnreachableChannels } from '../services/channels/probe-tripped-channels.ts';
import { decideAbandonedCancels } from '../services/tasks/end/decide-abandoned-cancels.ts';
import { endStaleTasks } from '../services/tasks/end/end-stale-tasks.ts';
import { createEndFollowUp } from '../services/tasks/end/follow-up-ends.ts';
import { scheduledJobIntervals } from '../services/scheduled-jobs/scheduled-job-table.ts';
import { runOverdueScheduledJobs } from '../services/scheduled-jobs/run-overdue-scheduled-jobs.ts';
import { createProviderJobPoller } from '../services/tasks/attempt/poll-parked-provider-jobs.ts';
import { processCallbacks } from '../services/callbacks/process-callbacks.ts';
import { createTaskStarter, resumeSilentTasks } from '../services/tasks/create/start-tasks.ts';
import { EXPIRED_BATCH_MAX, expireChats } from '../db/chat/chat-ledger.ts';
import { purgeUndelivered } from '../db/scheduled-jobs/retention.ts';
import { foldUsage } from '../db/ledger/spend.ts';
import { foldTraffic } from '../db/operators/overview.ts';
import type { Deps } from '../deps.ts';
import { createQuietWatch, type QuietWatch } from '../services/restore/quiet.ts';
import { UNREACHABLE_PROBE_SECONDS } from '../domain/channels/routing.ts';
import { pause } from '../platform/pause.ts';
import { ensureTemporal } from './ensure-temporal.ts';
import { createFilesWatch } from './watch-files.ts';
import { createTemporalWatch } from './watch-temporal.ts';

/**
 * The loops of every worker: they start waiting tasks, poll parked jobs, resume silent tasks, decide abandoned cancels, end stale tasks and
 * refund expired chats. Each has a loop of its own, so that none waits for another. They run the commands of the jobs more often and without
 * their lock or record, so that tasks end even without Temporal and a scheduler. One adds up the traffic for the overview, one the usage. The
 * last loop runs overdue jobs. `stop` ends the loops after their current turn. While the database is marked as restored, only those run that
 * write to the database alone or look after Temporal.
 */
export function startLoops(deps: Deps, quiet: QuietWatch = createQuietWatch(deps)) {
  const { config } = deps;
  const stopping = new AbortController();
  const startedAt = performance.now();
  const poller = createProviderJobPoller(deps);
  const sweepMs = config.sweeps.intervalSeconds * 1000;
  const scheduledJobsMs = Math.min(
    sweepMs,
    ...scheduledJobIntervals(config.scheduledJobs).map(({ everySeconds }) => everySeconds * 1000),
  );
  const followUp = createEndFollowUp(deps);
  const starter = createTaskStarter(deps);
  /** A loop that rests while the database is marked as restored. */
  const loudLoop = (name: string, turn: () => Promise<number>): Promise<void> =>
    loop(deps, stopping.signal, name, async () => ((await quiet.isQuiet()) ? quietMs : turn()));
  const loops = [
    loudLoop('starter', async () => {
      const { claimed, started, isAway, hasMore } = await starter.round();
      // Starts as soon as Temporal is back, and claims nothing before.
      if (isAway) await untilReachable(deps, stopping.signal);
      // After a failed start Temporal needs a moment.
      if (claimed > started) return 1_000;
      return hasMore ? Math.min(busyStarterMs, config.starter.intervalMs) : config.starter.intervalMs;
    }),
    loudLoop('unreachable channels', async () => {
      await probeUnreachableChannels(deps);
      return UNREACHABLE_PROBE_SECONDS * 1_000;
    }),
    loudLoop('poller', () => poller.claim()),
    loudLoop('stale sweep', async () => {
      followUp.add((await endStaleTasks(deps)).ended);
      return sweepMs;
    }),
    ...Object.entries(sweeps).map(([name, sweep]) =>
      loudLoop(name, async () => {
        await sweep(deps);
        return sweepMs;
      }),
    ),
    loop(deps, stopping.signal, 'chat expiry', async () => {
      await expireChats(deps.db, EXPIRED_BATCH_MAX);
      await purgeUndelivered(deps.db, EXPIRED_BATCH_MAX);
      return sweepMs;
    }),
    loop(deps, stopping.signal, 'Temporal', async () => {
      const ensureMs = config.temporal.ensureSeconds * 1000;
      await pause(ensureMs, stopping.signal);
      if (!stopping.signal.aborted) await ensureTemporal(deps);
      return 0;
    }),
    loop(deps, stopping.signal, 'Temporal watch', createTemporalWatch(deps)),
    loop(deps, stopping.signal, 'files watch', createFilesWatch(deps)),
    loop(deps, stopping.signal, 'traffic', async () => {
      await foldTraffic(deps.db, config.accounting.lagSeconds);
      return trafficMs;
    }),
    // Apart from the traffic, because the first turn after an upgrade reads a hundred days.
    loop(deps, stopping.signal, 'usage', async () => {
      await foldUsage(deps.db, config.accounting.lagSeconds);
      return trafficMs;
    }),
    loudLoop('jobs', async () => {
      await runOverdueScheduledJobs(deps, (performance.now() - startedAt) / 1000);
      return scheduledJobsMs;
    }),
  ];
  return {
    async stop(): Promise<void> {
      stopping.abort();
      await Promise.all(loops);
      await Promise.all([poller.stop(), followUp.close(0)]);
    },
  };
}

/** Between two rounds of the starter while more tasks wait: workers begin a few in this time. */
const busyStarterMs = 25;
const reachableWithinMs = 2_000;

/** Returns when Temporal answers or the loops stop. */
async function untilReachable({ workflows }: Deps, signal: AbortSignal): Promise<void> {
  while (!signal.aborted && !(await workflows.isReachable(reachableWithinMs))) await pause(1_000, signal);
}

const sweeps = {
  'pending sweep': resumeSilentTasks,
  'cancel sweep': decideAbandonedCancels,
  'callback sweep': processCallbacks,
};

/** The overview adds up the entries of the last minute and of the lag of the books by itself. */
const trafficMs = 60_000;
const afterErrorMs = 2_000;
/** How soon a quiet worker sees the release. */
const quietMs = 500;

/** Repeats a turn until stopped. A turn returns the pause after it. An error is logged. */
async function loop({ logger }: Deps, signal: AbortSignal, name: string, turn: () => Promise<number>): Promise<void> {
  while (!signal.aborted) {
    const restMs = await turn().catch((error: unknown) => {
      logger.warn({ err: error, loop: name }, 'a turn of a worker loop failed');
      return afterErrorMs;
    });
    await pause(restMs, signal);
  }
}
