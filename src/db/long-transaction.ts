import type { Database } from './database.ts';
import { retryTransient } from './retry-transient.ts';

/** What upkeep may take in one transaction, where a request may take seconds. */
const statementTimeoutMs = 300_000;

/**
 * One transaction of upkeep, with minutes for each statement instead of a request's seconds; begun again when it was rolled
 * back for a deadlock or a lock that was not to be had. Statements inside must not outlive it by anything but rows.
 */
export async function longTransaction<T>(
  database: Database,
  work: (query: Database['query']) => Promise<T>,
  begin = 'begin',
): Promise<T> {
  return retryTransient(() =>
    database.transaction(begin, async (query) => {
      await query({
        name: 'long-transaction',
        text: `select set_config('statement_timeout', '${statementTimeoutMs}', true)`,
      });
      return work((statement, values) => query({ timeoutMs: statementTimeoutMs + 1_000, ...statement }, values));
    }),
  );
}
