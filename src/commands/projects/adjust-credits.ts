import { recordAudit } from '../../db/audit.ts';
import type { Deps } from '../../deps.ts';
import { OperatorError } from '../operator-error.ts';

export interface Adjustment {
  requestId: string;
  projectId: string;
  /** Credits given back by this call; 0 when the same had been given before. */
  given: number;
  charged: number;
  /** Credits given back for this request so far, this call included. */
  givenInAll: number;
  balance: number;
}

/**
 * Gives back what a settled task or chat was charged, or `amount` of it, as an entry of its own in the month it is written:
 * once per reason, and in all never more than was charged. The task itself goes on showing what it was charged. Throws
 * `OperatorError` when there is nothing to give back.
 */
export async function adjustCredits(
  { db }: Pick<Deps, 'db'>,
  asked: { requestId: string; amount: number | null; reason: string; actor: string },
): Promise<Adjustment> {
  const { requestId, amount, reason, actor } = asked;
  const [row] = await db.query<{
    verdict: string;
    projectId: string | null;
    given: number;
    charged: number | null;
    givenInAll: number | null;
    balance: number | null;
  }>(
    {
      name: 'adjust-credits',
      text: 'select verdict, project_id, given, charged, given_in_all, balance from adjust_credits($1, $2, $3)',
    },
    [requestId, amount, reason],
  );
  if (!row || row.verdict === 'not_found')
    throw new OperatorError(`No task or chat ${requestId} has ever held credits.`);
  const charged = row.charged ?? 0;
  const givenInAll = row.givenInAll ?? 0;
  const refusals: Readonly<Record<string, string>> = {
    not_settled: `${requestId} has not been charged: nothing of it is settled.`,
    nothing_left: `All ${charged} credits that ${requestId} was charged have been given back.`,
    too_many: `${requestId} was charged ${charged} credits and got ${givenInAll} back: no more than ${charged - givenInAll} are left to give.`,
    reason_reused: `Another amount was given back to ${requestId} for this reason. Nothing was changed.`,
  };
  const refusal = refusals[row.verdict];
  if (refusal !== undefined) throw new OperatorError(refusal);
  const projectId = row.projectId ?? '';
  if (row.given > 0) {
    const detail = { project_id: projectId, amount: row.given, reason };
    await recordAudit(db, { actor, action: 'credits.adjust', subject: requestId, detail });
  }
  return { requestId, projectId, given: row.given, charged, givenInAll, balance: row.balance ?? 0 };
}
