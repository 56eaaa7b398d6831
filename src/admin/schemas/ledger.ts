import { z } from 'zod';

export const LedgerReportSchema = z
  .object({
    ok: z.boolean(),
    since: z
      .object({ checkpoint_id: z.int(), through_entry_id: z.int(), covers_until: z.iso.datetime() })
      .nullable()
      .describe('The checkpoint whose sums were trusted. Null if all entries were added up.'),
    invariants: z
      .record(
        z.string(),
        z.object({
          promise: z.string().describe('The sentence that is true if there is no breach.'),
          breaches: z.int(),
          examples: z.array(z.string()).describe('Ids of up to ten that break the invariant.'),
        }),
      )
      .describe('By name, `C1` and so on.'),
  })
  .meta({ id: 'LedgerReport' });
