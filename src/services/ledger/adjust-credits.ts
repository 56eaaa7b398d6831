import { undeliveredReasons } from '../../db/chat/chats.ts';
import { insertAdjustment } from '../../db/ledger/credits.ts';
import type { Deps } from '../../deps.ts';
import { OperatorError, UnknownToOperator } from '../operator-error.ts';

/**
 * Gives back the credits that a task or chat was charged by its settlement or by an adopted result, or `amount` of them, by a ledger entry in
 * the current month. Each reason is used once, and the sum never exceeds the charge. The task still shows its original charge. Returns the
 * credits that this call gave back (`returned`, 0 if it was repeated) and all that were given back for the request (`givenInAll`). Throws
 * `OperatorError` if the adjustment is refused.
 */
export async function adjustCredits(
  { db }: Pick<Deps, 'db'>,
  input: { requestId: string; amount: number | null; reason: string; actor: string },
) {
  const { requestId, reason } = input;
  if (undeliveredReasons.includes(reason))
    throw new OperatorError("This reason is the gateway's own, for chats that were not delivered. Choose other words.");
  const row = await insertAdjustment(db, input);
  if (row.verdict === 'not_found') throw new UnknownToOperator(`No task or chat ${requestId} has ever held credits.`);
  const { verdict, projectId, given: returned, charged, givenInAll, balance } = row;
  const refusals: Readonly<Partial<Record<typeof verdict, string>>> = {
    not_settled: `${requestId} has not been charged, so there is nothing to give back.`,
    nothing_left: `All ${charged} credits that ${requestId} was charged have been given back already.`,
    too_many: `${requestId} was charged ${charged} credits, of which ${givenInAll} were given back: no more than ${charged - givenInAll} can be given back.`,
    reason_reused: `Another amount was already given back for ${requestId} with this reason. Nothing was changed.`,
  };
  const refusal = refusals[verdict];
  if (refusal !== undefined) throw new OperatorError(refusal);
  return { requestId, projectId, returned, charged, givenInAll, balance };
}
