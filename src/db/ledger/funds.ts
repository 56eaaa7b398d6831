import type { Database } from '../database.ts';
import { endedOfGrants } from './grants.ts';

export interface Funds {
  /** Credits of the project that a request can hold, its overdraft included, without those that have ended; at most 2^53 - 1. */
  balance: number;
  /** What the key may still spend of its budgets; null without one, negative after a budget was lowered. */
  budgetLeft: number | null;
}

/** The credits that a key can use now. A request that is made later may find less. */
export async function findFunds(
  database: Database,
  { projectId, keyId }: { projectId: string; keyId: string },
): Promise<Funds> {
  const funds = await database.first<Funds>(
    'find-funds',
    `select least(a.balance + a.overdraft - grants.ended, ${Number.MAX_SAFE_INTEGER}) as balance, key_room(k, (clock_timestamp() at time zone 'UTC')::date) as budget_left
     from credit_account a join api_key k on k.project_id = a.project_id cross join lateral (${endedOfGrants('a')}) grants
     where a.project_id = $1 and k.id = $2`,
    [projectId, keyId],
  );
  if (!funds) throw new Error(`the project ${projectId} has no account or no key ${keyId}`);
  return funds;
}
