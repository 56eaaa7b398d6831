import type { Deps } from '../deps.ts';
import { alarmOf } from '../domain/operators/alarm.ts';
import { awayAnswerWithinMs, createAwayWatch } from './create-away-watch.ts';

/**
 * One turn of the loop that raises an alarm while Temporal is away for longer than a restart takes, and says when it is back. Returns the pause
 * until the next turn. Tasks are still accepted meanwhile, and the workers start them afterwards.
 */
export const createTemporalWatch = (
  { workflows, logger }: Pick<Deps, 'logger'> & { workflows: Pick<Deps['workflows'], 'isReachable'> },
  now?: () => number,
): (() => Promise<number>) =>
  createAwayWatch({
    isThere: () => workflows.isReachable(awayAnswerWithinMs),
    away: (seconds) =>
      logger.error(
        { ...alarmOf('temporal_away'), away_seconds: seconds },
        'Temporal is away: tasks are accepted and start when it is back',
      ),
    back: () => logger.info('Temporal is back'),
    now,
  });
