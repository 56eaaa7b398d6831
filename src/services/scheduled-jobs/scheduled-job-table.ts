import type { Config } from '../../config/load-config.ts';
import type { Deps } from '../../deps.ts';
import {
  scheduledJobNames,
  type ScheduledJobName,
  type ScheduledJobSummary,
} from '../../domain/tasks/scheduled-job.ts';
import { decideAbandonedCancels } from '../tasks/end/decide-abandoned-cancels.ts';
import { EXPIRED_BATCH_MAX, expireChats } from '../../db/chat/chat-ledger.ts';
import { endDueGrants } from '../../db/ledger/grants.ts';
import { endStaleTasks } from '../tasks/end/end-stale-tasks.ts';
import { createEndFollowUp } from '../tasks/end/follow-up-ends.ts';
import { runMaintenance } from './maintenance.ts';
import { checkChannels } from '../channels/check-channels.ts';
import { checkModelLists } from '../channels/check-model-lists.ts';
import { probeTrippedChannels } from '../channels/probe-tripped-channels.ts';
import { sendBalanceEvents } from '../ledger/send-balance-events.ts';
import { processCallbacks } from '../callbacks/process-callbacks.ts';
import { resumeSilentTasks, startUnstartedTasks } from '../tasks/create/start-tasks.ts';

/** The dependencies of all jobs. */
export type ScheduledJobDeps = Pick<
  Deps,
  | 'callbackSlots'
  | 'config'
  | 'db'
  | 'ledger'
  | 'logger'
  | 'metrics'
  | 'tracer'
  | 'workflows'
  | 'channels'
  | 'adapters'
  | 'sealer'
  | 'egress'
  | 'urls'
  | 'files'
>;

interface ScheduledJob {
  everySeconds(intervals: Config['scheduledJobs']): number;
  /** Runs the job once and returns counts. Safe to run at any time, concurrently, and again after an interruption. */
  run(deps: ScheduledJobDeps): Promise<ScheduledJobSummary>;
}

/** A hold after the end of a grant ends it, so this is how long what is left of it may stand in an account that nothing is spent from. */
const balancesSeconds = 60;

/** Every job with its interval and what it does. */
export const scheduledJobTable: Record<ScheduledJobName, ScheduledJob> = {
  'process-pending-callbacks': {
    everySeconds: (intervals) => intervals.callbacksSeconds,
    async run(deps) {
      const callbacks = await processCallbacks(deps);
      const resumed = await resumeSilentTasks(deps);
      // If Temporal has just been unreachable, more calls would only wait for their timeouts.
      const unstarted = resumed.isAway ? 0 : (await startUnstartedTasks(deps)).started;
      const cancels = await decideAbandonedCancels(deps);
      return { ...callbacks, resumed: resumed.started, started: unstarted, cancels };
    },
  },
  'check-stale-media-tasks': {
    everySeconds: (intervals) => intervals.staleTasksSeconds,
    run: (deps) => checkStale(deps),
  },
  'check-api-channels': {
    everySeconds: (intervals) => intervals.channelsSeconds,
    // A list that hangs must not delay the recovery of a tripped channel.
    async run(deps) {
      const [probes, checks, lists] = await Promise.allSettled([
        probeTrippedChannels(deps),
        checkChannels(deps),
        checkModelLists(deps),
      ]);
      if (probes.status === 'rejected') throw probes.reason;
      if (checks.status === 'rejected') throw checks.reason;
      if (lists.status === 'rejected') throw lists.reason;
      return { ...probes.value, ...checks.value, ...lists.value };
    },
  },
  'scheduled-maintenance': {
    everySeconds: (intervals) => intervals.maintenanceSeconds,
    async run(deps) {
      const done = await runMaintenance(deps);
      return { ...done, months: done.months.map((month) => ({ ...month })) };
    },
  },
  'check-balances': {
    everySeconds: () => balancesSeconds,
    // The alerts come second, because they tell what is left.
    run: async (deps) => ({ ...(await endDueGrants(deps.db)), ...(await sendBalanceEvents(deps)) }),
  },
};

/** How long a run follows up the tasks that it has ended. The worker that polls a job stops what is left out. */
const followUpMs = 30_000;

/** Ends stale tasks and refunds expired chat holds. Neither waits for the other, so that a failure of one leaves the other done. */
async function checkStale(deps: ScheduledJobDeps): Promise<{ failed: number; stuck: number; expired: number }> {
  const chats = expireChats(deps.db, EXPIRED_BATCH_MAX);
  const tasks = endStaleTasks(deps).then(async (done) => {
    const followUp = createEndFollowUp(deps);
    followUp.add(done.ended);
    await followUp.close(followUpMs);
    return done;
  });
  await Promise.allSettled([chats, tasks]);
  const { ended, stuck } = await tasks;
  return { failed: ended.length, stuck, expired: await chats };
}

/** Each job with its interval, for its Schedule and for the loop of the workers. */
export const scheduledJobIntervals = (
  intervals: Config['scheduledJobs'],
): { name: ScheduledJobName; everySeconds: number }[] =>
  scheduledJobNames.map((name) => ({ name, everySeconds: scheduledJobTable[name].everySeconds(intervals) }));
