import { z } from 'zod';
import { tokenParts } from './token-parts.ts';

const Sums = z.object({
  requests: z.int(),
  succeeded: z.int(),
  failed: z.int(),
  credits: z.int().describe('Charged, less what was given back.'),
  input_tokens: z.int(),
  output_tokens: z.int(),
  ...tokenParts,
});

/** What the requests of a range came to. */
export const UsageSchema = z
  .object({
    object: z.literal('list'),
    data: z.array(
      Sums.extend({ day: z.string().nullable(), model: z.string().nullable(), key_id: z.string().nullable() }),
    ),
    total: Sums,
  })
  .meta({ id: 'Usage' });
export type PublicUsage = z.input<typeof UsageSchema>;
