import type { Adapter } from '../../../adapters/channel.ts';
import { endAttempt } from '../../../db/tasks/attempts.ts';
import { credentialsOfAttempts } from '../../../db/channels/credential-of-attempt.ts';
import type { ChannelRow } from '../../../db/channels/channels.ts';
import { claimPolls, markMissing, saveProgress, type ClaimedPoll } from '../../../db/tasks/parked-provider-jobs.ts';
import type { Deps } from '../../../deps.ts';
import type { PollResult } from '../../../domain/channels/upstream.ts';
import { channelSending, removedCredential } from '../../channels/credential-of-attempt.ts';
import { usableCredential } from '../../channels/unseal-credential.ts';
import { keepWriting, type WritingPatience } from '../../keep-writing.ts';
import { alarmUnknownWord } from './odd-answers.ts';
import { pollTimeoutMs, timeoutSignal } from './run.ts';
import type { StartingWorkflows } from '../create/start-or-resume.ts';
import { createCollector } from './collect-provider-jobs.ts';
import { sealResults } from './kept-results.ts';
import { parkedPollBounds } from './parked-poll-bounds.ts';
import { stopUpstream } from '../end/stop-upstream.ts';

type PollerDeps = Pick<
  Deps,
  'config' | 'db' | 'channels' | 'adapters' | 'ledger' | 'sealer' | 'logger' | 'metrics' | 'tracer'
> & { workflows: StartingWorkflows };

export interface ProviderJobPoller {
  /** Claims the due polls and starts them, without waiting for their answers. Returns the pause until the next claim. */
  claim(): Promise<number>;
  /** Drops the running polls. Their jobs are due again when the leases end. */
  stop(): Promise<void>;
}

/**
 * Polls of one channel at the same time: half of the connections of its origin (`call-upstream.ts`), which submits need too. A provider that
 * answers in three quarters of a second needs them for 20,000 jobs.
 */
const perChannelMax = 256;
/** Polls of a process at the same time: an answer may have some megabytes. A channel may have as many as are free, so several that hang leave some. */
const perWorkerMax = 1_024;
/** Of each channel, also above that. */
const perChannelLeast = 4;
/** A poll is late by this much at most while there are free slots. */
const idleMs = 200;
/** After a claim that filled half of the free slots of a channel, more jobs are due. */
const backlogMs = 25;
/** A poll ends this long before its lease, so that no two workers poll a job at the same time. */
const leaseMarginMs = 200;
const lateAfterMs = 1_000;

/**
 * Polls parked jobs for this worker. A poll that finds the job running writes nothing but a changed progress. If the job has ended
 * or is lost, its workflow is told to collect it. The end of a task with a parked job leaves the end of its attempt to the poller.
 */
export function createProviderJobPoller(deps: PollerDeps): ProviderJobPoller {
  const { config, db, logger, metrics, tracer } = deps;
  const bounds = parkedPollBounds(config);
  const stopping = new AbortController();
  const collector = createCollector(deps);
  const running = new Set<Promise<void>>();
  /** Polls in flight by channel. */
  const taken = new Map<string, number>();
  const progress = new Map<string, number>();

  const run = async (
    providerJob: ClaimedPoll,
    channel: PollableChannel | 'removed',
    leaseEnds: number,
  ): Promise<void> => {
    if (channel === 'removed') return endRemoved(deps, collector, providerJob);
    taken.set(providerJob.channelId, (taken.get(providerJob.channelId) ?? 0) + 1);
    // After the lease another worker may poll the job, and finds the same.
    const patience = { leftMs: () => leaseEnds - performance.now() - leaseMarginMs, signal: stopping.signal };
    try {
      if (!providerJob.wanted) return await endUnwanted(deps, providerJob, channel, patience);
      const leftMs = Math.min(pollTimeoutMs, leaseEnds - performance.now() - leaseMarginMs, providerJob.remainingMs);
      if (leftMs <= 0) return;
      const signal = AbortSignal.any([stopping.signal, timeoutSignal(leftMs)]);
      const polledAt = performance.now();
      const polled = await poll(channel, providerJob, signal);
      if (stopping.signal.aborted) return;
      const ms = performance.now() - polledAt;
      metrics.upstreamCalled({ channel: channel.row.name, operation: 'poll', outcome: polled.kind, ms });
      alarmUnknownWord(deps, { ...providerJob, channel: channel.row.name }, polled);
      if (polled.kind === 'pending' && polled.progress !== undefined && polled.progress > (providerJob.progress ?? -1))
        progress.set(providerJob.taskId, polled.progress);
      if (await isOver(deps, providerJob, polled, patience)) collector.add(providerJob.taskId);
    } catch (error) {
      logger.warn({ err: error, task_id: providerJob.taskId }, 'a parked provider job could not be polled');
    } finally {
      taken.set(providerJob.channelId, (taken.get(providerJob.channelId) ?? 1) - 1);
    }
  };

  const writeProgress = async (): Promise<void> => {
    if (progress.size === 0) return;
    const changed = new Map(progress);
    progress.clear();
    try {
      await saveProgress(db, changed);
    } catch (error) {
      // Written with the next claim, but for what a newer poll has said.
      for (const [taskId, shown] of changed) if (!progress.has(taskId)) progress.set(taskId, shown);
      throw error;
    }
  };

  return {
    async claim() {
      await writeProgress();
      const channels = await pollableChannels(deps);
      const free = freeSlots([...channels.keys()], taken);
      if (free.length === 0) return idleMs;
      const claimedAt = performance.now();
      const providerJobs = await claimPolls(db, free, bounds);
      const own = await ownCredentials(deps, channels, providerJobs);
      for (const providerJob of providerJobs) {
        const channel = own(providerJob);
        if (!channel) continue;
        const poll = () => run(providerJob, channel, claimedAt + providerJob.leaseMs);
        const polling = tracer
          .resume(providerJob.traceParent, 'poll the parked job', poll)
          .finally(() => running.delete(polling));
        running.add(polling);
      }
      metrics.pollsStarted(timelinessOf(providerJobs));
      return pauseAfter(providerJobs, free);
    },
    async stop() {
      stopping.abort();
      await Promise.all([...running, collector.stop()]);
    },
  };
}

function timelinessOf(providerJobs: readonly ClaimedPoll[]): { onTime: number; late: number } {
  const late = providerJobs.filter(({ lateMs }) => lateMs > lateAfterMs).length;
  return { onTime: providerJobs.length - late, late };
}

/** The pause until the next claim. */
function pauseAfter(providerJobs: readonly ClaimedPoll[], free: ReturnType<typeof freeSlots>): number {
  const counts = Map.groupBy(providerJobs, ({ channelId }) => channelId);
  const isBacklog = free.some(({ channelId, slots }) => (counts.get(channelId)?.length ?? 0) * 2 >= slots);
  return isBacklog ? backlogMs : idleMs;
}

interface PollableChannel {
  row: ChannelRow;
  credential: string;
  pollMedia: NonNullable<Adapter['pollMedia']>;
}

/** The channels that this worker can call, also disabled and tripped ones, because their accepted jobs are bought. */
async function pollableChannels(deps: PollerDeps): Promise<Map<string, PollableChannel>> {
  const { channels } = await deps.channels.list();
  const pollable = new Map<string, PollableChannel>();
  for (const row of channels) {
    const adapter = deps.adapters[row.adapter];
    if (!adapter?.pollMedia) continue;
    const secrets = row.credentials.map((each) => usableCredential(deps, { name: row.name, credential: each }));
    // Of several the first that can be decrypted: each job is polled with its own (`ownCredentials`).
    const credential = secrets.find((secret) => secret !== null);
    if (credential === undefined) continue;
    pollable.set(row.id, { row, credential, pollMedia: adapter.pollMedia.bind(adapter) });
  }
  return pollable;
}

/**
 * The channel of each job with the credential that submitted it. Asks the database only for the jobs of channels that have, or had,
 * several. `removed`: the channel has the credential no more.
 */
async function ownCredentials(
  deps: PollerDeps,
  channels: ReadonlyMap<string, PollableChannel>,
  providerJobs: readonly ClaimedPoll[],
): Promise<(providerJob: ClaimedPoll) => PollableChannel | 'removed' | undefined> {
  const ofPools = providerJobs.filter(({ channelId }) => channels.get(channelId)?.row.isPooled);
  const ids = ofPools.map(({ attemptId }) => attemptId);
  const credentials = ids.length > 0 ? await credentialsOfAttempts(deps.db, ids) : new Map<string, string | null>();
  return ({ channelId, attemptId }) => {
    const channel = channels.get(channelId);
    if (!channel?.row.isPooled) return channel;
    const row = channelSending(channel.row, credentials.get(attemptId) ?? null);
    if (!row) return 'removed';
    const credential = usableCredential(deps, row);
    return credential === null ? undefined : { ...channel, row, credential };
  };
}

/** How many more polls of each channel may start: all together fewer than are free. Channels without a free slot are left out. */
export function freeSlots(
  channelIds: readonly string[],
  taken: ReadonlyMap<string, number>,
): { channelId: string; slots: number }[] {
  const inFlight = [...taken.values()].reduce((sum, count) => sum + count, 0);
  const free = Math.max(0, perWorkerMax - inFlight);
  const share = Math.floor(free / (channelIds.length + 1));
  return channelIds
    .map((channelId) => {
      const own = taken.get(channelId) ?? 0;
      return { channelId, slots: Math.max(Math.min(share, free - own, perChannelMax - own), perChannelLeast - own) };
    })
    .filter(({ slots }) => slots > 0);
}

function poll(
  { row, credential, pollMedia }: PollableChannel,
  { operation: providerRef, requestId }: ClaimedPoll,
  signal: AbortSignal,
): Promise<PollResult> {
  const upstream = { channelId: row.id, baseUrl: row.baseUrl, credential, requestId };
  return pollMedia(upstream, providerRef, { signal });
}

/** Whether an activity has something to do: results to copy, an end to record, or a job that is lost. */
async function isOver(
  { config, db }: PollerDeps,
  providerJob: ClaimedPoll,
  polled: PollResult,
  patience: WritingPatience,
): Promise<boolean> {
  const { kind } = polled;
  if (kind === 'done' || kind === 'failed' || kind === 'refused') return true;
  // The activity polls a few more times, and then gives the job up.
  if (kind === 'unclear' && polled.finishedShape !== undefined) return true;
  const isMissing = kind === 'missing';
  if (isMissing !== (providerJob.missingMs !== null)) {
    await keepWriting(() => markMissing(db, providerJob.attemptId, isMissing), patience);
  }
  return isMissing && (providerJob.missingMs ?? 0) > config.attempts.missingProviderJobLostSeconds * 1000;
}

/** Ends a job whose credential is gone: its workflow says so in the attempt, or this if the task has ended. Never rejects. */
async function endRemoved(
  { db, logger }: PollerDeps,
  collector: Pick<ReturnType<typeof createCollector>, 'add'>,
  providerJob: ClaimedPoll,
): Promise<void> {
  if (providerJob.wanted) return collector.add(providerJob.taskId);
  const end = {
    outcome: 'canceled',
    detail: `the task ended before its provider job did, and ${removedCredential}`,
  } as const;
  await endAttempt(db, providerJob, end).catch((error: unknown) =>
    logger.warn({ err: error, task_id: providerJob.taskId }, 'an attempt could not be ended'),
  );
}

/** Short, because no client waits for it. */
const lastPollMs = 5_000;

/** Ends the attempt of a task that ended while its job was parked, and stops the job, if that is not done yet. */
async function endUnwanted(
  deps: PollerDeps,
  providerJob: ClaimedPoll,
  channel: PollableChannel,
  patience: WritingPatience,
): Promise<void> {
  const { attemptId, fence, taskId } = providerJob;
  // The stop first: until the attempt has ended, another worker would send it if this one dies.
  await stopUpstream(deps, taskId);
  // A job that had ended before it could be stopped is billed: the operator can still save its result.
  const last = await poll(channel, providerJob, timeoutSignal(lastPollMs)).catch(() => null);
  const sealedResult = last?.kind === 'done' ? sealResults(deps, attemptId, last.outputs) : null;
  const end = { outcome: 'canceled', detail: 'the task ended before its provider job did', sealedResult } as const;
  await keepWriting(() => endAttempt(deps.db, { attemptId, fence }, end), patience);
}
