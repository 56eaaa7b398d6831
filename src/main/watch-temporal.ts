import type { Deps } from '../deps.ts';
import { alarmOf, temporalAway } from '../domain/operators/alarm.ts';

/** A restart of Temporal takes this long; it needs no alarm. */
const patienceMs = 15_000;
const everyMs = 5_000;
const answerWithinMs = 4_000;

/**
 * One turn of the loop that raises an alarm while Temporal is away for longer than a restart takes, and says when it is back. Returns the pause
 * until the next turn. Tasks are still accepted meanwhile, and the workers start them afterwards.
 */
export function createTemporalWatch(
  { workflows, logger }: Pick<Deps, 'logger'> & { workflows: Pick<Deps['workflows'], 'isReachable'> },
  now: () => number = () => performance.now(),
): () => Promise<number> {
  let awaySince: number | null = null;
  let isRaised = false;
  return async () => {
    if (await workflows.isReachable(answerWithinMs)) {
      if (isRaised) logger.info('Temporal is back');
      [awaySince, isRaised] = [null, false];
      return everyMs;
    }
    awaySince ??= now();
    const awayMs = now() - awaySince;
    if (awayMs >= patienceMs) {
      isRaised = true;
      const about = { ...alarmOf(temporalAway.name), away_seconds: Math.round(awayMs / 1_000) };
      logger.error(about, 'Temporal is away: tasks are accepted and start when it is back');
    }
    return everyMs;
  };
}
