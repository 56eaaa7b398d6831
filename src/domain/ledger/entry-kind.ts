/** What an entry of the ledger records. */
export const entryKinds = ['topup', 'settle', 'refund', 'adjust', 'deduct', 'expiry'] as const;
export type EntryKind = (typeof entryKinds)[number];
