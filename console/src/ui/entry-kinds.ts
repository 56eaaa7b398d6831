import type { LedgerEntry } from '../api/admin-types.ts';

/** The words for the kinds of ledger entries. */
export const entryKinds: Record<LedgerEntry['kind'], string> = {
  topup: 'Added',
  settle: 'Charged',
  refund: 'Refunded',
  adjust: 'Given back',
  deduct: 'Deducted',
  expiry: 'Expired',
};
