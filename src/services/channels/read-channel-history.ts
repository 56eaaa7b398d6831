import { historySpans, readHistoryRows, type HistorySpan } from '../../db/channels/channel-history.ts';
import { listChannels } from '../../db/channels/channels.ts';
import type { Deps } from '../../deps.ts';
import { durationAt } from '../../domain/tasks/duration-classes.ts';
import { UnknownToOperator } from '../operator-error.ts';

/** How the attempts of a channel ended in one minute or hour. */
export interface HistoryPoint {
  /** The beginning, in unix seconds. */
  at: number;
  attempts: number;
  ok: number;
  /** The provider refused the request itself. Says nothing about the channel. */
  refused: number;
  transient: number;
  unknown: number;
  /** Of the successful ones, to 5 %. Null if there was none. */
  p50Ms: number | null;
  p95Ms: number | null;
}

export interface ReadHistory {
  channelId: string;
  name: string;
  bucketSeconds: number;
  /** One for each minute or hour, oldest first. The last one has just begun. */
  points: HistoryPoint[];
}

/** Minutes are kept for two days, and shown where they are few. */
const minuteHoursMax = 3;

/**
 * How the attempts of a channel, given by id or name, ended in the last `hours`: by minutes up to three hours, else by hours. Throws
 * `OperatorError` for an unknown channel.
 */
export async function readChannelHistory(
  { db }: Pick<Deps, 'db'>,
  { channel: named, hours }: { channel: string; hours: number },
): Promise<ReadHistory> {
  const { channels, nowMs } = await listChannels(db);
  const channel = channels.find(({ id, name }) => id === named || name === named);
  if (!channel) throw new UnknownToOperator(`There is no channel ${named}.`);
  const span: HistorySpan = hours <= minuteHoursMax ? 'minute' : 'hour';
  const bucketSeconds = historySpans[span];
  const last = Math.floor(nowMs / 1_000 / bucketSeconds) * bucketSeconds;
  const from = last - hours * 3_600 + bucketSeconds;
  const rows = await readHistoryRows(db, { channelId: channel.id, span, from });
  const recorded = new Map(rows.map((row) => [row.at, row]));
  const points = Array.from({ length: (hours * 3_600) / bucketSeconds }, (_, n): HistoryPoint => {
    const at = from + n * bucketSeconds;
    const { durations, ...counts } = recorded.get(at) ?? nothing;
    const attempts = counts.ok + counts.refused + counts.transient + counts.unknown;
    return { ...counts, at, attempts, p50Ms: durationAt(durations, 0.5), p95Ms: durationAt(durations, 0.95) };
  });
  return { channelId: channel.id, name: channel.name, bucketSeconds, points };
}

const nothing = { ok: 0, refused: 0, transient: 0, unknown: 0, durations: [] };
