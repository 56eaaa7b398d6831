import type { Deps } from '../deps.ts';
import { alarmOf } from '../domain/operators/alarm.ts';
import { checkFileStore } from '../services/files/check-file-store.ts';
import { diskFull, freeMinBytes } from '../services/files/storage-guard.ts';
import { awayAnswerWithinMs, createAwayWatch } from './create-away-watch.ts';

/**
 * One turn of the loop that raises an alarm while the file store is away, or its disk nearly full, and says when it is back. Returns the pause
 * until the next turn. Without it an operator would learn of a full disk from the first client that is refused.
 */
export const createFilesWatch = (
  { files, logger }: Pick<Deps, 'logger'> & { files: Pick<Deps['files'], 'freeBytes' | 'exists'> },
  now?: () => number,
): (() => Promise<number>) =>
  createAwayWatch({
    async isThere() {
      const freeBytes = await checkFileStore(files, awayAnswerWithinMs);
      if (freeBytes !== null && freeBytes < freeMinBytes.alarm) diskFull(logger, freeBytes);
      return freeBytes !== null;
    },
    away: (seconds) =>
      logger.error(
        { ...alarmOf('files_away'), away_seconds: seconds },
        'the file store is away: uploads are refused and results wait',
      ),
    back: () => logger.info('the file store is back'),
    now,
  });
