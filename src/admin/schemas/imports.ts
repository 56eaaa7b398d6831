import { z } from 'zod';

// A JSON number is exact up to 2^53 - 1 in most readers.
const sum = z.union([z.int(), z.string().regex(/^-?\d+$/)]).describe('Text with all its digits beyond 2^53 - 1.');
const counts = z.object({ projects: z.int(), keys: z.int(), channels: z.int() });

export const ImportResult = z
  .object({
    program: z.string(),
    source: z.string().describe('The name of the import, in references of the ledger.'),
    dry_run: z.boolean(),
    created: counts.describe('What was made. In a dry run, what would be made.'),
    changed: counts.describe('What changed there since the last import.'),
    unchanged: z.int(),
    gone: counts.describe('What was imported before and is no longer there. It stays here.'),
    credits: z.object({
      balances: sum.describe('The sum of the balances there, in credits.'),
      owed: sum.describe('Of these, what projects owe.'),
      without_budget: z.int().describe('Projects that have an overdraft, because they have no budget there.'),
    }),
    redemptions: z.object({ codes: z.int(), credits: sum }).describe('Codes that were not redeemed there.'),
    left_out: z.record(z.string(), z.int()).describe('What has no place here, counted.'),
    notices: z.array(z.object({ kind: z.string(), subject: z.string(), sentence: z.string() })),
    spent: z
      .object({ projects: z.int(), credits: sum })
      .nullable()
      .describe('What projects have spent here since, if files of it were asked for.'),
    drafts: z.string().nullable().describe('The folder with drafts of the catalog and of plans.'),
  })
  .meta({ id: 'ImportResult' });
