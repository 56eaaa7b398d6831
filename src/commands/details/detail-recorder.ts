import { ensureDetailPartitions, isPartitionMissing, writeDetailRows, type DetailRow } from '../../db/detail-rows.ts';
import { isConnectionLost } from '../../db/retry-transient.ts';
import type { Deps } from '../../deps.ts';
import { pause } from '../../platform/pause.ts';

export type { DetailRow };

/** Keeps one row per answered request, without delaying the request. */
export interface DetailRecorder {
  /** Buffers a row. Never throws, never waits. When the buffer is full the row is lost, which is counted and logged. */
  record(row: DetailRow): void;
  /** Refuses more rows and writes those that wait. While the database is away it tries for `patienceMs` (2,000 by default). */
  close(patienceMs?: number): Promise<void>;
}

export interface DetailRecorderOptions {
  /** The most rows that wait, 10,000 by default: some megabytes. */
  rowsMax?: number;
  batchMax?: number;
  /** How long a row waits for its batch. */
  waitMs?: number;
}

/**
 * Writes rows in batches, one batch at a time: when `batchMax` (500) wait, or one of them has waited `waitMs` (a second).
 * While the database is away rows wait in the buffer. Rows may be lost: nothing is billed or summed up from them.
 */
export function createDetailRecorder(
  { db, logger, metrics }: Pick<Deps, 'db' | 'logger' | 'metrics'>,
  { rowsMax = 10_000, batchMax = 500, waitMs = 1_000 }: DetailRecorderOptions = {},
): DetailRecorder {
  let waiting: DetailRow[] = [];
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> | null = null;
  const { lose, tellLost } = createLossLog({ logger, metrics });
  /** The last write found no database: rows wait for the timer, not for a full batch. */
  let away = false;
  let closed = false;

  const arm = (): void => {
    if (timer ?? writing) return;
    timer = setTimeout(flush, waitMs);
    // The timer must not keep the process alive; `close` writes the waiting rows.
    timer.unref();
  };
  const flush = (): void => {
    clearTimeout(timer);
    timer = undefined;
    writing ??= drain().finally(() => {
      writing = null;
      tellLost();
      if (waiting.length > 0 && !closed) arm();
    });
  };
  /** Writes all full batches, or one that is not full. Stops when the database is away. */
  const drain = async (): Promise<void> => {
    do {
      const batch = waiting.splice(0, batchMax);
      if (batch.length > 0 && !(await writeBatch(batch))) return;
    } while (waiting.length >= batchMax);
  };
  /** Returns false when the database is away. The rows then wait again, in their order. */
  const writeBatch = async (batch: DetailRow[]): Promise<boolean> => {
    try {
      await write(db, batch);
      away = false;
      return true;
    } catch (error) {
      if (!isConnectionLost(error)) {
        lose(batch.length, error);
        return true;
      }
      away = true;
      const free = Math.max(0, rowsMax - waiting.length);
      waiting = [...batch.slice(0, free), ...waiting];
      if (batch.length > free) lose(batch.length - free);
      return false;
    }
  };

  return {
    record(row) {
      if (closed || waiting.length >= rowsMax) {
        lose(1);
        return;
      }
      waiting.push(row);
      if (waiting.length >= batchMax && !away) flush();
      else arm();
    },
    async close(patienceMs = 2_000) {
      closed = true;
      const giveUpAt = performance.now() + patienceMs;
      do {
        flush();
        await writing;
        if (waiting.length > 0) await pause(retryMs);
      } while (waiting.length > 0 && performance.now() < giveUpAt);
      clearTimeout(timer);
      if (waiting.length > 0) lose(waiting.length);
      waiting = [];
      tellLost();
    },
  };
}

/** Counts lost rows at once, and logs them together. */
function createLossLog({ logger, metrics }: Pick<Deps, 'logger' | 'metrics'>) {
  let rowsSinceLogged = 0;
  const tellLost = (error?: unknown): void => {
    if (rowsSinceLogged === 0) return;
    logger.warn({ err: error, rows: rowsSinceLogged }, 'API details were lost');
    rowsSinceLogged = 0;
  };
  const lose = (rows: number, error?: unknown): void => {
    metrics.apiDetailsLost(rows);
    rowsSinceLogged += rows;
    if (error !== undefined) tellLost(error);
  };
  return { lose, tellLost };
}

const retryMs = 100;

/** The day's partition may be missing where no maintenance has run for days. */
async function write(db: Deps['db'], batch: DetailRow[]): Promise<void> {
  try {
    await writeDetailRows(db, batch);
  } catch (error) {
    if (!isPartitionMissing(error)) throw error;
    await ensureDetailPartitions(db);
    await writeDetailRows(db, batch);
  }
}
