import type { Database, Query, Statements } from './database.ts';
import { retryTransient } from './retry-transient.ts';

const statementTimeoutMs = 300_000;

/**
 * Runs one transaction of maintenance, whose statements may take minutes instead of a request's seconds. Runs it again after a
 * deadlock or a lock timeout, so `work` must change nothing but rows.
 */
export async function longTransaction<T>(
  database: Database,
  work: (query: Query, inside: Statements) => Promise<T>,
  begin = 'begin',
): Promise<T> {
  const setTimeLimit = `select set_config('statement_timeout', '${statementTimeoutMs}', true)`;
  return retryTransient(() =>
    database.transaction(
      begin,
      async (query, inside) => {
        await query('long-transaction', setTimeLimit);
        return work(query, inside);
      },
      statementTimeoutMs + 1_000,
    ),
  );
}

/** The rows of an SQL function that runs as a long transaction. */
export const callLong = <Row extends object>(database: Database, name: string, values: unknown[]): Promise<Row[]> =>
  longTransaction(database, (_query, inside) => inside.call<Row>(name, values));

/** The value of an SQL function that runs as a long transaction. */
export const longValue = <T>(database: Database, name: string, values: unknown[]): Promise<T> =>
  longTransaction(database, (_query, inside) => inside.value<T>(name, values));
