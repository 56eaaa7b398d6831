import type { Config } from '../config.ts';
import { listChannels, restChannel, type ChannelRow } from '../db/channels.ts';
import type { Database } from '../db/database.ts';
import { createCached } from './cached.ts';

export interface ChannelCache {
  /** The channels with their health, and the database's clock now. At most `keptMs` old. */
  look(): Promise<{ channels: readonly ChannelRow[]; nowMs: number }>;
  find(channelId: string): Promise<ChannelRow | null>;
  /** Keeps a channel that answered 429 out of every instance's draw, for what it asked within bounds. */
  rest(channelId: string, askedSeconds: number | undefined): Promise<void>;
  forget(): void;
}

/** How long a channel rests after 429, without and at most with a Retry-After. */
type RestBounds = Pick<Config, 'RATE_LIMIT_REST_SECONDS' | 'RATE_LIMIT_REST_MAX_SECONDS'>;

export function createChannelCache(db: Database, keptMs: number, bounds: RestBounds): ChannelCache {
  const cached = createCached(keptMs, async () => {
    const { channels, nowMs } = await listChannels(db);
    return { channels, nowMs, at: performance.now() };
  });
  const look = async () => {
    const { channels, nowMs, at } = await cached.get();
    return { channels, nowMs: nowMs + (performance.now() - at) };
  };
  return {
    look,
    find: async (channelId) => (await look()).channels.find(({ id }) => id === channelId) ?? null,
    async rest(channelId, askedSeconds) {
      const seconds = Math.min(askedSeconds ?? bounds.RATE_LIMIT_REST_SECONDS, bounds.RATE_LIMIT_REST_MAX_SECONDS);
      await restChannel(db, { channelId, modelId: '*', seconds, reason: 'rate_limit' });
      cached.forget();
    },
    forget: () => cached.forget(),
  };
}
