import { ensureDetailPartitions, isPartitionMissing, writeDetailRows, type DetailRow } from '../../db/detail-rows.ts';
import { isConnectionLost } from '../../db/retry-transient.ts';
import type { Deps } from '../../deps.ts';
import { pause } from '../../platform/pause.ts';

export type { DetailRow };

/** Keeps one row per answered request, off the request's way. */
export interface DetailRecorder {
  /** Takes a row in; never throws, never waits. With a full buffer the row is lost, which is counted and logged. */
  record(row: DetailRow): void;
  /** Writes what waits, up to `patienceMs` (2,000 when absent) while the database is away; the rest is lost. Nothing is taken in after it. */
  close(patienceMs?: number): Promise<void>;
}

export interface DetailRecorderOptions {
  /** What waits at most, 10,000 when absent: some megabytes. */
  rowsMax?: number;
  batchMax?: number;
  /** A row waits this long for its batch. */
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
  let lostSinceLogged = 0;
  /** The last write found no database: rows wait for the timer, not for a full batch. */
  let away = false;
  let closed = false;

  const lose = (rows: number, error?: unknown): void => {
    metrics.apiDetailsLost(rows);
    lostSinceLogged += rows;
    if (error !== undefined) tellLost(error);
  };
  const tellLost = (error?: unknown): void => {
    if (lostSinceLogged === 0) return;
    logger.warn({ err: error, rows: lostSinceLogged }, 'API details were lost');
    lostSinceLogged = 0;
  };
  const arm = (): void => {
    if (timer ?? writing) return;
    timer = setTimeout(flush, waitMs);
    // A process that has nothing else to do may end; `close` writes what waits.
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
  /** Full batches at once, and the last one that is not full; stops at a database that is away. */
  const drain = async (): Promise<void> => {
    do {
      const batch = waiting.splice(0, batchMax);
      if (batch.length > 0 && !(await writeBatch(batch))) return;
    } while (waiting.length >= batchMax);
  };
  /** False when the database is away; the rows wait again, at their place. */
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
      const room = Math.max(0, rowsMax - waiting.length);
      waiting = [...batch.slice(0, room), ...waiting];
      if (batch.length > room) lose(batch.length - room);
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
