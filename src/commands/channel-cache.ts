import { listChannels, type ChannelRow } from '../db/channels.ts';
import type { Database } from '../db/database.ts';
import { createCached } from './cached.ts';

export interface ChannelCache {
  /** The channels with their health, and the database's clock now. At most `keptMs` old. */
  look(): Promise<{ channels: readonly ChannelRow[]; nowMs: number }>;
  find(channelId: string): Promise<ChannelRow | null>;
  forget(): void;
}

export function createChannelCache(db: Database, keptMs: number): ChannelCache {
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
    forget: () => cached.forget(),
  };
}
