import type { Config } from '../config.ts';
import {
  claimChannel,
  listChannels,
  noteChannelFailure,
  noteChannelSuccess,
  raiseChannelAlarm,
  restChannel,
  type ChannelCall,
  type ChannelRow,
} from '../db/channels.ts';
import type { Database } from '../db/database.ts';
import { healthNoteOf, noteOutcome, type OutcomeWindow } from '../domain/channel-health.ts';
import type { Attempt, ErrorClass } from '../domain/upstream.ts';
import type { Logger } from '../platform/logger.ts';
import type { Metrics } from '../platform/metrics.ts';
import { createCached } from './cached.ts';

export interface ChannelCache {
  /** The channels with their health, and the database's clock now. At most `keptMs` old. */
  look(): Promise<{ channels: readonly ChannelRow[]; nowMs: number }>;
  find(channelId: string): Promise<ChannelRow | null>;
  /** Whether a call may go there now. Costs nothing unless the breaker of this channel and model was open. */
  claim(channel: ChannelRow, modelId: string): Promise<boolean>;
  /** Tells the breaker what a call that began at `startedAt` (`performance.now()`) came to (design "Routing"). */
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
    return { channels, nowMs, at: performance.now() };
  });
  const look = async () => {
    const { channels, nowMs, at } = await cached.get();
    return { channels, nowMs: nowMs + (performance.now() - at) };
  };
  const windows = new Map<string, OutcomeWindow>();
  const inWindow = (channel: ChannelRow, modelId: string, failed: boolean): boolean => {
    const key = `${channel.id} ${modelId}`;
    const window = windows.get(key) ?? { outcomes: [] };
    windows.set(key, window);
    const tooMany = noteOutcome(window, failed, performance.now());
    if (tooMany) windows.delete(key);
    return tooMany;
  };
  const rest = async (channelId: string, seconds: number, reason: ErrorClass): Promise<void> => {
    await restChannel(db, { channelId, modelId: '*', seconds, reason });
    cached.forget();
  };
  const raise = async ({ id, name }: ChannelRow, modelId: string, alarm: ErrorClass): Promise<void> => {
    if (!(await raiseChannelAlarm(db, { channelId: id, modelId, alarm }))) return;
    metrics.alarm(alarm);
    logger.error(
      { alarm: true, channel_id: id, channel: name, model: modelId, reason: alarm },
      'a channel needs an operator',
    );
  };
  const fail = async (channel: ChannelRow, call: ChannelCall, reason: ErrorClass): Promise<void> => {
    const open = inWindow(channel, call.modelId, true);
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
  return {
    look,
    find: async (channelId) => (await look()).channels.find(({ id }) => id === channelId) ?? null,
    async claim(channel, modelId) {
      if (!channel.openedModels.includes(modelId)) return true;
      const claimed = await claimChannel(db, {
        channelId: channel.id,
        modelId,
        probeSeconds: config.BREAKER_PROBE_SECONDS,
      });
      cached.forget();
      return claimed;
    },
    async note(channel, modelId, attempt, startedAt) {
      const note = healthNoteOf(attempt);
      const call = { channelId: channel.id, modelId, ageSeconds: (performance.now() - startedAt) / 1000 };
      switch (note.kind) {
        case 'success': {
          inWindow(channel, modelId, false);
          const known = channel.troubledModels.includes(modelId) || channel.troubledModels.includes('*');
          if (known && (await noteChannelSuccess(db, call))) cached.forget();
          return;
        }
        case 'failure':
          return fail(channel, call, note.reason);
        case 'rate_limit':
          return rest(
            channel.id,
            Math.min(note.askedSeconds ?? config.RATE_LIMIT_REST_SECONDS, config.RATE_LIMIT_REST_MAX_SECONDS),
            'rate_limit',
          );
        case 'account':
          await rest(channel.id, config.ACCOUNT_REST_SECONDS, 'account');
          return raise(channel, '*', 'account');
        case 'unknown_model':
          return raise(channel, modelId, 'unknown_model');
        case 'neutral':
          return;
      }
    },
    forget: () => cached.forget(),
  };
}
