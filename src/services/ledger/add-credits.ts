import { findAccount, insertCredits, type Account, type AddedCredits } from '../../db/ledger/credits.ts';
import type { Deps } from '../../deps.ts';
import { demand, OperatorError, UnknownToOperator } from '../operator-error.ts';

export interface Credits {
  projectId: string;
  balance: number;
  reserved: number;
}

/**
 * Adds credits once per reference, which last or end at `expiresAt`. A repeated reference adds nothing, whatever its end; with another amount it
 * throws `OperatorError`, as for an end in the past.
 */
export async function addCredits(
  { db }: Pick<Deps, 'db'>,
  input: { projectId: string; amount: number; reference: string; expiresAt?: Date | null; actor: string },
): Promise<Credits & { added: boolean }> {
  return toAddedCredits(await insertCredits(db, input), input);
}

/** What was added. Throws `OperatorError` for a verdict by which nothing was. */
export function toAddedCredits(
  row: AddedCredits,
  { projectId, reference }: { projectId: string; reference: string },
): Credits & { added: boolean } {
  if (row.verdict === 'project_not_found') throw new UnknownToOperator(`There is no project ${projectId}.`);
  if (row.verdict === 'reference_reused')
    throw new OperatorError(`The reference ${reference} was already used with another amount. Nothing was added.`);
  if (row.verdict === 'has_ended')
    throw new OperatorError('The end of the credits must be in the future. Nothing was added.');
  if (row.verdict === 'too_many_grants')
    throw new OperatorError('A project can have at most 1,000 grants that have not ended. Nothing was added.');
  if (row.verdict === 'too_many')
    throw new OperatorError('A project can have at most 2^53 - 1 credits. Nothing was added.');
  return { projectId, balance: row.balance, reserved: row.reserved, added: row.verdict === 'added' };
}

/** The account of a project, with the credits that expire, the first end first. */
export async function showCredits(
  { db }: Pick<Deps, 'db'>,
  projectId: string,
): Promise<Account & { projectId: string }> {
  const account = demand(await findAccount(db, projectId), `project ${projectId}`);
  return { projectId, ...account };
}
