import { recordAudit } from '../../db/audit.ts';
import type { Deps } from '../../deps.ts';
import { OperatorError } from '../operator-error.ts';

export interface Credits {
  projectId: string;
  balance: number;
  reserved: number;
}

/** Adds credits once per reference. A repeated reference adds nothing; with another amount it throws `OperatorError`. */
export async function addCredits(
  { db }: Pick<Deps, 'db'>,
  given: { projectId: string; amount: number; reference: string; actor: string },
): Promise<Credits & { added: boolean }> {
  const [row] = await db.query<{ verdict: string; balance: number | null; reserved: number | null }>(
    'add-credits',
    'select verdict, balance, reserved from add_credits($1, $2, $3)',
    [given.projectId, given.amount, given.reference],
  );
  if (!row || row.verdict === 'project_not_found') throw new OperatorError(`There is no project ${given.projectId}.`);
  if (row.verdict === 'reference_reused') {
    throw new OperatorError(
      `The reference ${given.reference} was already used with another amount. Nothing was added.`,
    );
  }
  if (row.verdict === 'too_many')
    throw new OperatorError('A project can have at most 2^53 - 1 credits. Nothing was added.');
  const added = row.verdict === 'added';
  if (added) {
    const { actor, projectId, amount, reference } = given;
    await recordAudit(db, { actor, action: 'credits.add', subject: projectId, detail: { amount, reference } });
  }
  return { projectId: given.projectId, balance: row.balance ?? 0, reserved: row.reserved ?? 0, added };
}

export async function showCredits({ db }: Pick<Deps, 'db'>, projectId: string): Promise<Credits> {
  const [row] = await db.query<{ balance: number; reserved: number }>(
    'show-credits',
    'select balance, reserved from credit_account where project_id = $1',
    [projectId],
  );
  if (!row) throw new OperatorError(`There is no project ${projectId}.`);
  return { projectId, ...row };
}
