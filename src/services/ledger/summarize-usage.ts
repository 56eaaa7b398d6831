import type { PublicUsage } from '../../schemas/usage.ts';
import { sumUsage, type Usage, type UsageRange } from '../../db/ledger/usage.ts';
import type { Deps } from '../../deps.ts';
import { toTokenColumns } from '../../domain/catalog/token-counts.ts';
import { GatewayError } from '../../domain/errors.ts';

/** Groups of usage in an answer. A longer one would be megabytes. */
export const usageGroupsMax = 10_000;

/** A project's usage in the format of the API, newest day first. Throws `invalid_value` where the groups are too many. */
export async function summarizeUsage({ db }: Pick<Deps, 'db'>, range: UsageRange): Promise<PublicUsage> {
  const rows = await sumUsage(db, range, usageGroupsMax);
  if (rows.length > usageGroupsMax + 1) {
    const message = `from, to: this range has more than ${usageGroupsMax} groups. Ask for a shorter range or group by less.`;
    throw new GatewayError('invalid_value', { message, param: 'from' });
  }
  const total = rows.find(({ isTotal }) => isTotal);
  if (!total) throw new Error('the usage has no total');
  return {
    object: 'list',
    data: rows
      .filter(({ isTotal }) => !isTotal)
      .map((row) => ({ day: row.day, model: row.model, key_id: row.keyId, ...sumsOf(row) })),
    total: sumsOf(total),
  };
}

const sumsOf = ({ requests, succeeded, failed, credits, ...tokens }: Usage): PublicUsage['total'] => ({
  requests,
  succeeded,
  failed,
  credits,
  ...toTokenColumns(tokens),
});
