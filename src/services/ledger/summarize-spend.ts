import type { Config } from '../../config/load-config.ts';
import { readCountedFrom, sumSpend, type Spend, type SpendRange } from '../../db/ledger/spend.ts';
import type { Deps } from '../../deps.ts';
import { GatewayError } from '../../domain/errors.ts';
import { creditValueOf } from './credit-value.ts';
import { usageGroupsMax } from './summarize-usage.ts';

export interface Earnings extends Spend {
  marginMicroUsd: number;
}

/** What requests earned, newest day first, and in all. `unknownCostsFrom` is null if all is counted. Throws `invalid_value` for too many groups. */
export async function summarizeSpend(
  { db, config }: Pick<Deps, 'db'> & { config: Pick<Config, 'accounting'> },
  range: SpendRange,
): Promise<{ rows: Earnings[]; total: Earnings; unknownCostsFrom: number | null }> {
  const [creditValue, sums] = await Promise.all([creditValueOf({ config, db }), sumSpend(db, range, usageGroupsMax)]);
  const countedFrom = await readCountedFrom(db);
  if (sums.length > usageGroupsMax + 1) {
    const message = `from, to: this range has more than ${usageGroupsMax} groups. Ask for a shorter range, group by less, or ask for the largest with top.`;
    throw new GatewayError('invalid_value', { message, param: 'from' });
  }
  const [total, ...rows] = sums.map(({ isTotal: _isTotal, ...sum }) => ({
    ...sum,
    marginMicroUsd: sum.credits * creditValue - sum.costMicroUsd,
  }));
  if (!total) throw new Error('the spend has no total');
  return { rows, total, unknownCostsFrom: countedFrom !== null && range.from < countedFrom ? countedFrom : null };
}
