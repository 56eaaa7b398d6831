import { insertDeduction } from '../../db/ledger/credits.ts';
import type { Deps } from '../../deps.ts';
import { OperatorError, UnknownToOperator } from '../operator-error.ts';
import type { Credits } from './add-credits.ts';

/**
 * Takes credits out of a project once per reference, for a payment that was refunded or charged back. The balance may become negative. A
 * repeated reference takes nothing; with another amount it throws `OperatorError`. An unknown project also throws `OperatorError`.
 */
export async function deductCredits(
  { db }: Pick<Deps, 'db'>,
  input: { projectId: string; amount: number; reference: string; reason: string; actor: string },
): Promise<Credits & { deducted: boolean }> {
  const { projectId, reference } = input;
  const row = await insertDeduction(db, input);
  if (row.verdict === 'project_not_found') throw new UnknownToOperator(`There is no project ${projectId}.`);
  if (row.verdict === 'reference_reused')
    throw new OperatorError(`The reference ${reference} was already used with another amount. Nothing was deducted.`);
  if (row.verdict === 'too_many')
    throw new OperatorError('The balance of a project cannot be below -(2^53 - 1) credits. Nothing was deducted.');
  return { projectId, balance: row.balance, reserved: row.reserved, deducted: row.verdict === 'deducted' };
}
