import { z } from 'zod';
import { listOf } from './list.ts';
import { time } from './time.ts';

/** Either `task_id` or `request_id` names what an entry is about. Both are null for a top-up. */
export const LedgerEntry = z
  .object({
    entry_id: z.string(),
    at: time,
    kind: z.enum(['topup', 'settle', 'refund', 'adjust']),
    credits: z.int().describe('Negative if the entry takes credits.'),
    balance_after: z.int().describe('The balance before plus `credits`, reserved credits included.'),
    task_id: z.string().nullable(),
    request_id: z.string().nullable().describe('The `x-request-id` of a chat.'),
    key_id: z.string().nullable(),
    reference: z.string().nullable().describe("The operator's reference of a top-up or reason of an adjustment."),
  })
  .meta({ id: 'LedgerEntry' });
export type PublicEntry = z.input<typeof LedgerEntry>;

export const LedgerList = listOf(LedgerEntry);
