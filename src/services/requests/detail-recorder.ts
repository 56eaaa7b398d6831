import { ensureDetailPartitions, isPartitionMissing, writeDetailRows, type DetailRow } from '../../db/detail-rows.ts';
import { isDatabaseAway } from '../../db/retry-transient.ts';
import type { Deps } from '../../deps.ts';
import { pause } from '../../platform/pause.ts';

export type { DetailRow };

/** Stores one row per answered request without delaying the request. */
export interface DetailRecorder {
  /** Buffers a row. Never throws or waits. If the buffer is full, the row is lost, which is counted and logged. */
  record(row: DetailRow): void;
  /** Refuses more rows and writes the waiting ones. If the database is unavailable, retries for `patienceMs`. */
  close(patienceMs?: number): Promise<void>;
}

/**
 * Writes rows in batches, one batch at a time: as soon as `batchMax` rows wait, or one of them has waited `waitMs`. While the database
 * is unavailable, up to `rowsMax` rows wait, a few megabytes. Rows may be lost, because nothing is billed or summed up from them.
 */
export function createDetailRecorder(
  { db, logger, metrics }: Pick<Deps, 'db' | 'logger' | 'metrics'>,
  { rowsMax = 10_000, batchMax = 500, waitMs = 1_000 } = {},
): DetailRecorder {
  let waiting: DetailRow[] = [];
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> | null = null;
  const { lose, logLost } = createLossLog({ logger, metrics });
  /** Whether the last write lost its database. Then rows wait for the timer instead of a full batch, and some may have been written. */
  let unavailable = false;
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
      logLost();
      if (waiting.length > 0 && !closed) arm();
    });
  };
  /** Writes all full batches, or one that is not full. Stops if the database is unavailable. */
  const drain = async (): Promise<void> => {
    do {
      const batch = waiting.splice(0, batchMax);
      if (batch.length > 0 && !(await writeBatch(batch))) return;
    } while (waiting.length >= batchMax);
  };
  /** Returns false if the database is unavailable. The rows then wait again, in their order. */
  const writeBatch = async (batch: DetailRow[]): Promise<boolean> => {
    try {
      await write(db, batch, unavailable);
      unavailable = false;
      return true;
    } catch (error) {
      if (!isDatabaseAway(error)) {
        lose(batch.length, error);
        return true;
      }
      unavailable = true;
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
      if (waiting.length >= batchMax && !unavailable) flush();
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
      logLost();
    },
  };
}

/** Counts lost rows immediately, and logs them together. */
function createLossLog({ logger, metrics }: Pick<Deps, 'logger' | 'metrics'>) {
  let rowsSinceLogged = 0;
  const logLost = (error?: unknown): void => {
    if (rowsSinceLogged === 0) return;
    logger.warn({ err: error, rows: rowsSinceLogged }, 'API details were lost');
    rowsSinceLogged = 0;
  };
  const lose = (rows: number, error?: unknown): void => {
    metrics.apiDetailsLost(rows);
    rowsSinceLogged += rows;
    if (error !== undefined) logLost(error);
  };
  return { lose, logLost };
}

const retryMs = 100;

/** Creates missing partitions first: the day's partition is missing if maintenance has not run for days. */
async function write(db: Deps['db'], batch: DetailRow[], again: boolean): Promise<void> {
  try {
    await writeDetailRows(db, batch, again);
  } catch (error) {
    if (!isPartitionMissing(error)) throw error;
    await ensureDetailPartitions(db);
    await writeDetailRows(db, batch, again);
  }
}
