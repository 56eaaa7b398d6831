import type { Database, Statements } from '../../src/db/database.ts';
import { sumUsage } from '../../src/db/ledger/usage.ts';

/** The usage of so many projects without a request is added up: of the ten thousand of an import it would take minutes. */
const idleMax = 100;

/**
 * Throws unless, to the credit, the ledger of each project adds up to its balance and what is reserved, and its usage is what was settled less
 * what was given back. All of it is read as of one moment, because the statement of a killed process may end at any.
 */
export const demandBooksAddUp = (database: Database): Promise<void> =>
  database.transaction('begin isolation level repeatable read read only', (_query, inside) => demandSums(inside));

async function demandSums(books: Statements): Promise<void> {
  const accounts = await books.query<Account>(
    '',
    `select a.project_id, a.balance + a.reserved as held, sum(e.credits)::float8 as entered,
       coalesce(-sum(e.credits) filter (where e.kind in ('settle', 'adjust')), 0)::float8 as charged,
       count(e.request_id) = 0 as is_idle, floor(extract(epoch from min(e.created_at)))::float8 as began_at,
       ceil(extract(epoch from max(e.created_at)))::float8 + 1 as ended_at
     from credit_account a join ledger_entry e using (project_id) group by a.project_id`,
  );
  let idle = 0;
  for (const { projectId, held, entered, charged, isIdle, beganAt, endedAt } of accounts) {
    if (isIdle) idle += 1;
    if (isIdle && idle > idleMax && held === entered) continue;
    const range = { projectId, from: beganAt, to: endedAt, timeZone: 'UTC', groups: [] };
    const used = (await sumUsage(books, range, 1)).find(({ isTotal }) => isTotal)?.credits;
    if (held === entered && used === charged) continue;
    const sums = JSON.stringify({ held, entered, charged, used });
    throw new Error(`The books of ${projectId} do not add up: ${sums}`);
  }
}

interface Account {
  projectId: string;
  held: number;
  entered: number;
  /** Settled less adjusted. */
  charged: number;
  /** No request has ended. */
  isIdle: boolean;
  /** Unix seconds. */
  beganAt: number;
  endedAt: number;
}
