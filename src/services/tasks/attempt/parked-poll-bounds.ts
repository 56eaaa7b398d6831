import type { Config } from '../../../config/load-config.ts';
import type { PollBounds } from '../../../db/tasks/parked-provider-jobs.ts';

/** A client of a video waits for minutes. A provider that is polled once a minute answers 20,000 jobs with 333 polls a second. */
const mostSeconds = 60;

/** How often a parked job is polled: after every tenth of its age, within these bounds. */
export const parkedPollBounds = ({ attempts }: Pick<Config, 'attempts'>): PollBounds => ({
  leastSeconds: attempts.pollIntervalMaxMs / 1000,
  mostSeconds,
});
