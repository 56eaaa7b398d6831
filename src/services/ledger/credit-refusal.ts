import { findFunds } from '../../db/ledger/funds.ts';
import type { Deps } from '../../deps.ts';
import { GatewayError, type ErrorCode } from '../../domain/errors.ts';

interface Refused {
  code: ErrorCode;
  key: { projectId: string; keyId: string };
  /** The credits that were to be held. */
  credits: number;
  retryAfterSeconds?: number | undefined;
}

/**
 * The refusal of a request that the ledger did not admit. If credits were missing, its message says how many the request needs and how
 * many are left. They are read after the verdict, so they are left out if they would suffice now.
 */
export async function creditRefusal({ db }: Pick<Deps, 'db'>, refused: Refused): Promise<GatewayError> {
  const { code, key, credits, retryAfterSeconds } = refused;
  if (code !== 'insufficient_credits' && code !== 'key_budget_exceeded') {
    return new GatewayError(code, { retryAfterSeconds });
  }
  // The verdict stands without its numbers.
  const funds = await findFunds(db, key).catch(() => null);
  const left = code === 'insufficient_credits' ? funds?.balance : funds?.budgetLeft;
  if (left === undefined || left === null || left >= credits) return new GatewayError(code);
  const available = Math.max(left, 0);
  const message =
    code === 'insufficient_credits'
      ? `The project does not have enough credits: this request needs ${credits} and ${available} are available.`
      : `The budgets of this key do not cover the request: it needs ${credits} credits and ${available} are left.`;
  return new GatewayError(code, { message });
}
