import { giveHeldGrant } from '../../db/imports/held-grants.ts';
import type { Deps } from '../../deps.ts';
import { sha256Hex } from '../../platform/crypto/hash.ts';
import { OperatorError } from '../operator-error.ts';
import { toAddedCredits, type Credits } from '../ledger/add-credits.ts';

/**
 * Gives the credits of an imported redemption code to a project. Again with the same project changes nothing. Throws `OperatorError` for a code
 * that is not known, or that another project has.
 */
export async function redeemCode(
  { db }: Pick<Deps, 'db'>,
  { code, projectId, actor }: { code: string; projectId: string; actor: string },
): Promise<Credits & { added: boolean; credits: number }> {
  const redeemed = await giveHeldGrant(db, { digest: sha256Hex(code), projectId, actor });
  if (!redeemed) throw new OperatorError('No unspent redemption code with this text was imported. Nothing was added.');
  if (!redeemed.added)
    throw new OperatorError(
      `The project ${redeemed.redeemedBy ?? ''} has redeemed this code already. Nothing was added.`,
    );
  return { ...toAddedCredits(redeemed.added, { projectId, reference: redeemed.reference }), credits: redeemed.credits };
}
