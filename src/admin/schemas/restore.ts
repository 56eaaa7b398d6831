import { z } from 'zod';
import { LedgerReportSchema } from './ledger.ts';

export const RestoreCheckSchema = z
  .object({
    restored_through: z.string().describe('The time of the newest row that was restored.'),
    quiet_since: z.string().describe('Since when workers submit, poll and call back nothing.'),
    books: LedgerReportSchema,
    tasks: z.object({
      in_flight: z.number().int(),
      polled: z.number().int().describe('Those whose provider job is known or whose submit was under way.'),
    }),
    callbacks: z.object({ pending: z.number().int() }),
    chats: z.object({ held: z.number().int().describe('Chats that ran at the restore point. Their holds expire.') }),
    files: z.object({
      unknown: z.array(z.string()).describe('Files that no row knows, by their keys.'),
      deleted: z.array(z.string()),
    }),
  })
  .meta({ id: 'RestoreCheck' });

export const RestoreReleaseSchema = z
  .object({
    restored_through: z.string(),
    released: z.boolean().describe('False for a dry run.'),
    temporal: z.enum(['known', 'empty']).describe('Whether Temporal has workflows of the restored database.'),
    tasks: z.object({
      poll: z.array(z.string()).describe('Tasks whose provider job is polled on.'),
      submit: z.array(z.string()).describe('Tasks that are submitted.'),
      unknown: z
        .array(z.string())
        .describe('Tasks that end as `upstream_outcome_unknown` with a refund: they may have been submitted.'),
    }),
    callbacks: z.object({ pending: z.number().int() }),
  })
  .meta({ id: 'RestoreRelease' });
