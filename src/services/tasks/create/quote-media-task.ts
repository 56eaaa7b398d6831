import { findFunds } from '../../../db/ledger/funds.ts';
import type { Deps } from '../../../deps.ts';
import type { PublicQuote } from '../../../schemas/task.ts';
import { resolveCreate, type CreateMediaRequest } from './resolve-create.ts';

/**
 * What a create request would cost, and whether the project's balance and the key's budget cover it now. Writes nothing. Throws what the
 * create throws about the request itself.
 */
export async function quoteMediaTask(
  deps: Parameters<typeof resolveCreate>[0] & Pick<Deps, 'db'>,
  request: CreateMediaRequest,
): Promise<PublicQuote> {
  const { entry, type, input, credits } = await resolveCreate(deps, request);
  const { balance, budgetLeft } = await findFunds(deps.db, request.key);
  const sufficient = credits <= balance && (budgetLeft === null || credits <= budgetLeft);
  return {
    object: 'quote',
    model: entry.model.id,
    type,
    input,
    credits: { quoted: credits },
    balance: { available: balance, sufficient },
  };
}
