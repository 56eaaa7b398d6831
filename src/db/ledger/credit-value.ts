import type { Database } from '../database.ts';

/** What one credit is worth in this installation, in micro-USD, as `migrate` has stored it. */
export async function readCreditValue(db: Database): Promise<number> {
  const [row] = await db.query<{ creditValue: number }>(
    'credit-value',
    'select credit_value_micro_usd as credit_value from installation',
  );
  if (row === undefined) throw new Error('The installation has no value of a credit. Run "npm run migrate".');
  return row.creditValue;
}
