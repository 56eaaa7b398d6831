import { findRestoreMark, markForQuietStart } from '../../db/restore/restore-marks.ts';
import type { Deps } from '../../deps.ts';

/** Whether a worker may submit, poll and call back. */
export interface QuietWatch {
  /** True while the database is marked as restored. Read again after half a second. Rejects if the database does not answer. */
  isQuiet(): Promise<boolean>;
}

const cachedMs = 500;

/** Watches the mark of a restored database, and logs when it is found and when it is released. */
export function createQuietWatch({ db, logger }: Pick<Deps, 'db' | 'logger'>): QuietWatch {
  let cached: { isQuiet: Promise<boolean>; until: number } | null = null;
  let wasQuiet = false;
  const read = async (): Promise<boolean> => {
    const mark = await findRestoreMark(db);
    if ((mark !== null) !== wasQuiet) {
      wasQuiet = mark !== null;
      if (mark) logger.warn({ restored_through: mark.restoredThrough.toISOString() }, quietLine);
      else logger.info('the restored database was released: this worker works again');
    }
    return mark !== null;
  };
  return {
    isQuiet() {
      if (cached && performance.now() < cached.until) return cached.isQuiet;
      const isQuiet = read();
      cached = { isQuiet, until: performance.now() + cachedMs };
      isQuiet.catch(() => (cached = null));
      return isQuiet;
    },
  };
}

const quietLine =
  'the database is marked as restored: this worker submits, polls and calls back nothing until `tollgate restore release`';

/** What a worker does first: with `TOLLGATE_QUIET` it marks the database as restored, once for each restore. */
export async function beginQuietly({ db, config }: Pick<Deps, 'db' | 'config'>): Promise<void> {
  if (config.worker.quiet) await markForQuietStart(db);
}
