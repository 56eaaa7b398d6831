import type { Database } from '../db/database.ts';
import { readFlushedLsn, readReplay } from '../db/replica.ts';
import type { Deps } from '../deps.ts';
import { GatewayError } from '../domain/errors.ts';
import { describeError } from '../platform/observe/describe-error.ts';
import { pause } from '../platform/pause.ts';
import { OperatorError } from '../services/operator-error.ts';

/** A replica that is close behind replays a change of a moment ago in less. */
const replayWithinMs = 500;
const askEveryMs = 20;
/** After a failure the replica is left alone for so long. */
const restMs = 5_000;

/**
 * Runs a read of an operator on the replica, once it has replayed everything that was committed before the read began: an operator sees every change,
 * also one that another API server made. A replica that is away, too far behind, no standby, or that refuses the read costs nothing but a line of the
 * log: the primary answers instead.
 */
export function createReplicaReads({
  primary,
  replica,
  logger,
}: { primary: Database; replica: Database } & Pick<Deps, 'logger'>) {
  let restsUntil = 0;
  const rest = (reason: string, error?: unknown): void => {
    restsUntil = performance.now() + restMs;
    logger.warn({ reason, ...(error !== undefined && { error: describeError(error) }) }, fallbackLine);
  };
  return async <T>(work: (db: Database) => Promise<T>): Promise<T> => {
    if (performance.now() < restsUntil) return work(primary);
    const lsn = await readFlushedLsn(primary);
    try {
      const reason = await untilReplayed(replica, lsn);
      if (reason === null) return await work(replica);
      rest(reason);
    } catch (error) {
      if (error instanceof GatewayError || error instanceof OperatorError) throw error;
      // The few reads that note who has read, such as those of a content, belong to the primary.
      if (!isReadOnly(error)) rest('failed', error);
    }
    return work(primary);
  };
}

const isReadOnly = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === '25006';

const fallbackLine = 'the read replica of DATABASE_READ_URL cannot serve: the primary answers the reads of operators';

/** Null once the replica has replayed the WAL up to there, else why it cannot serve. */
async function untilReplayed(replica: Database, lsn: string): Promise<'behind' | 'no_standby' | null> {
  const until = performance.now() + replayWithinMs;
  for (;;) {
    const { isStandby, isCurrent } = await readReplay(replica, lsn);
    if (!isStandby) return 'no_standby';
    if (isCurrent) return null;
    if (performance.now() > until) return 'behind';
    await pause(askEveryMs);
  }
}
