import { addToHistory, historySpans, type HistoryRow, type HistorySpan } from '../db/channels/channel-history.ts';
import type { Database } from '../db/database.ts';
import { durationClass } from '../domain/tasks/duration-classes.ts';
import type { AttemptOutcome } from '../domain/channels/upstream.ts';
import type { Logger } from '../platform/observe/logger.ts';

/** How an attempt ended: a call of a chat, or a job from its submit to its result. */
export interface EndedAttempt {
  outcome: AttemptOutcome;
  /** Milliseconds from its begin; of a streamed chat to the first content. */
  ms: number;
}

export interface ChannelHistory {
  /** Counts an attempt that ended now. Never throws or waits. What a killed process has not written is lost. */
  count(channelId: string, attempt: EndedAttempt): void;
  /** Writes what waits. */
  flush(): Promise<void>;
}

const waitMs = 5_000;
/** While the database is unavailable, older minutes are dropped beyond this many rows. */
const rowsMax = 5_000;

/** Adds up how the attempts of each channel end in this process, and writes it every few seconds, so that a busy channel costs one statement. */
export function createChannelHistory(database: Database, logger: Pick<Logger, 'warn'>): ChannelHistory {
  let waiting = new Map<string, HistoryRow>();
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> = Promise.resolve();

  const rowOf = (channelId: string, span: HistorySpan, seconds: number): HistoryRow => {
    const at = seconds - (seconds % historySpans[span]);
    const key = `${channelId} ${span} ${at}`;
    const row = waiting.get(key) ?? { channelId, span, at, ok: 0, refused: 0, transient: 0, unknown: 0, durations: [] };
    waiting.set(key, row);
    return row;
  };
  const write = async (): Promise<void> => {
    const rows = waiting;
    waiting = new Map();
    if (rows.size === 0) return;
    try {
      await addToHistory(database, [...rows.values()]);
    } catch (error) {
      logger.warn({ err: error, rows: rows.size }, 'the history of the channels could not be written');
      // The older rows come first.
      for (const [key, row] of waiting) rows.set(key, merged(row, rows.get(key)));
      waiting = rows;
      for (const key of [...waiting.keys()].slice(0, Math.max(0, waiting.size - rowsMax))) waiting.delete(key);
      arm();
    }
  };
  const flush = (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    return (writing = writing.then(write));
  };
  const arm = (): void => {
    timer ??= setTimeout(() => void flush(), waitMs).unref();
  };

  return {
    count(channelId, { outcome, ms }) {
      const seconds = Math.floor(Date.now() / 1_000);
      for (const span of ['minute', 'hour'] as const) {
        const row = rowOf(channelId, span, seconds);
        row[outcome] += 1;
        if (outcome === 'ok') add(row.durations, durationClass(ms), 1);
      }
      arm();
    },
    flush,
  };
}

function merged(row: HistoryRow, other: HistoryRow | undefined): HistoryRow {
  if (!other) return row;
  const durations = [...row.durations];
  other.durations.forEach((count, index) => add(durations, index, count));
  const of = (outcome: AttemptOutcome): number => row[outcome] + other[outcome];
  return {
    ...row,
    ok: of('ok'),
    refused: of('refused'),
    transient: of('transient'),
    unknown: of('unknown'),
    durations,
  };
}

/** A list without holes, because it becomes an array of PostgreSQL. */
function add(counts: number[], index: number, count: number): void {
  while (counts.length <= index) counts.push(0);
  counts[index] = (counts[index] ?? 0) + count;
}
