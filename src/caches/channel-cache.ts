import type { Config } from '../config.ts';
import {
  claimChannel,
  listChannels,
  noteChannelFailure,
  noteChannelSuccess,
  raiseChannelAlarm,
  releaseChannel,
  restChannel,
  type ChannelCall,
  type ChannelRow,
} from '../db/channels.ts';
import type { Database } from '../db/database.ts';
import { healthNoteOf, noteOutcome, type OutcomeWindow } from '../domain/channel-health.ts';
import { closedUntilMs } from '../domain/routing.ts';
import type { Attempt, ErrorClass } from '../domain/upstream.ts';
import type { Logger } from '../platform/observe/logger.ts';
import type { Metrics } from '../platform/observe/metrics.ts';
import { createCached } from './cached.ts';

export interface ChannelCache {
  /** The channels with their health, and the database's clock now. At most `keptMs` old. */
  look(): Promise<{ channels: readonly ChannelRow[]; nowMs: number }>;
  find(channelId: string): Promise<ChannelRow | null>;
  /**
   * The channel as it is known now, if a call may go there; else null. Costs nothing unless the breaker of this channel and
   * model was open: then the call is the one probe, until it is noted or released.
   */
  claim(channel: ChannelRow, modelId: string): Promise<ChannelRow | null>;
  /** A claimed call that is not made after all. Never rejects: a claim lapses by itself. */
  release(channel: ChannelRow, modelId: string): Promise<void>;
  /** Tells the breaker what a call that began at `startedAt` (`performance.now()`) came to (rules "Routing"). */
  note(channel: ChannelRow, modelId: string, attempt: Attempt<unknown>, startedAt: number): Promise<void>;
  forget(): void;
}

type HealthConfig = Pick<
  Config,
  | 'RATE_LIMIT_REST_SECONDS'
  | 'RATE_LIMIT_REST_MAX_SECONDS'
  | 'ACCOUNT_REST_SECONDS'
  | 'BREAKER_FAILURES_MAX'
  | 'BREAKER_OPEN_SECONDS'
  | 'BREAKER_OPEN_MAX_SECONDS'
  | 'BREAKER_PROBE_SECONDS'
>;

/**
 * Health is rows in PostgreSQL, so that instances agree: a breaker for each channel and model, a rest for all models of a
 * channel after 429 or trouble with our account. Only the share of failures in the last minute is counted by each process.
 */
export function createChannelCache(
  db: Database,
  keptMs: number,
  config: HealthConfig,
  { logger, metrics }: { logger: Logger; metrics: Pick<Metrics, 'alarm'> },
): ChannelCache {
  const cached = createCached(keptMs, async () => {
    const { channels, nowMs } = await listChannels(db);
    const at = performance.now();
    // What was counted before an opening must not open the channel again after it.
    for (const { id, openedModels } of channels) for (const modelId of openedModels) beginWindow(id, modelId);
    return { channels, nowMs, at };
  });
  const look = async () => {
    const { channels, nowMs, at } = await cached.get();
    return { channels, nowMs: nowMs + (performance.now() - at) };
  };
  /** By channel and model, with the moment it was begun; calls from before that are not counted. */
  const windows = new Map<string, OutcomeWindow & { since: number }>();
  const beginWindow = (channelId: string, modelId: string, since = performance.now()) => {
    const window = { outcomes: [], since };
    windows.set(`${channelId} ${modelId}`, window);
    return window;
  };
  const inWindow = (channel: ChannelRow, modelId: string, failed: boolean, startedAt: number): boolean => {
    const window = windows.get(`${channel.id} ${modelId}`) ?? beginWindow(channel.id, modelId, startedAt);
    if (startedAt < window.since) return false;
    const tooMany = noteOutcome(window, failed, performance.now());
    if (tooMany) beginWindow(channel.id, modelId);
    return tooMany;
  };
  const rest = async (channelId: string, seconds: number, reason: ErrorClass): Promise<void> => {
    await restChannel(db, { channelId, modelId: '*', seconds, reason });
    cached.forget();
  };
  const raise = async ({ id, name, alarms }: ChannelRow, modelId: string, alarm: ErrorClass): Promise<void> => {
    if (alarms[modelId] === alarm) return;
    if (!(await raiseChannelAlarm(db, { channelId: id, modelId, alarm }))) return;
    metrics.alarm(alarm);
    logger.error(
      { alarm: true, channel_id: id, channel: name, model: modelId, reason: alarm },
      'a channel needs an operator',
    );
  };
  const fail = async (channel: ChannelRow, call: ChannelCall, reason: ErrorClass, startedAt: number): Promise<void> => {
    const open = inWindow(channel, call.modelId, true, startedAt);
    const opened = await noteChannelFailure(
      db,
      { ...call, reason, open },
      {
        failuresMax: config.BREAKER_FAILURES_MAX,
        openSeconds: config.BREAKER_OPEN_SECONDS,
        openMaxSeconds: config.BREAKER_OPEN_MAX_SECONDS,
      },
    );
    cached.forget();
    if (opened)
      logger.warn(
        { channel_id: channel.id, channel: channel.name, model: call.modelId, reason },
        'a channel was opened',
      );
  };
  const release = async ({ id, name, openedModels }: ChannelRow, modelId: string): Promise<void> => {
    if (!openedModels.includes(modelId)) return;
    try {
      await releaseChannel(db, { channelId: id, modelId });
      cached.forget();
    } catch (error) {
      logger.warn({ err: error, channel: name, model: modelId }, 'a probe was not given back');
    }
  };
  const find = async (channelId: string) => (await look()).channels.find(({ id }) => id === channelId) ?? null;
  return {
    look,
    find,
    async claim({ id }, modelId) {
      const { channels, nowMs } = await look();
      // A request may have drawn it long ago.
      const channel = channels.find((one) => one.id === id);
      if (!channel?.enabled || closedUntilMs(channel, modelId) > nowMs) return null;
      if (!channel.openedModels.includes(modelId)) return channel;
      const claimed = await claimChannel(db, { channelId: id, modelId, probeSeconds: config.BREAKER_PROBE_SECONDS });
      cached.forget();
      return claimed ? channel : null;
    },
    release,
    async note(channel, modelId, attempt, startedAt) {
      const note = healthNoteOf(attempt);
      const call = { channelId: channel.id, modelId, ageSeconds: (performance.now() - startedAt) / 1000 };
      switch (note.kind) {
        case 'success': {
          inWindow(channel, modelId, false, startedAt);
          const known = channel.troubledModels.includes(modelId) || channel.troubledModels.includes('*');
          if (known && (await noteChannelSuccess(db, call))) cached.forget();
          return;
        }
        case 'failure':
          return fail(channel, call, note.reason, startedAt);
        case 'rate_limit':
          await release(channel, modelId);
          return rest(
            channel.id,
            Math.min(note.askedSeconds ?? config.RATE_LIMIT_REST_SECONDS, config.RATE_LIMIT_REST_MAX_SECONDS),
            'rate_limit',
          );
        case 'account':
          await release(channel, modelId);
          await rest(channel.id, config.ACCOUNT_REST_SECONDS, 'account');
          return raise(channel, '*', 'account');
        case 'unknown_model':
          await release(channel, modelId);
          return raise(channel, modelId, 'unknown_model');
        case 'neutral':
          return release(channel, modelId);
      }
    },
    forget: () => cached.forget(),
  };
}
