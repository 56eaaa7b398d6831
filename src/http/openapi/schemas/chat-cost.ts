import { z } from 'zod';

/** What a chat answer cost, as a member of its usage. The gateway adds it to the usage of every vendor's form. */
export const ChatCost = z
  .object({
    credits: z.int().describe('The credits charged, as in `x-tollgate-credits`.'),
    cost_details: z
      .object({
        input: z.int(),
        cached_input: z.int(),
        cache_write: z.int(),
        output: z.int(),
        reasoning: z.int(),
        minimum: z.int().optional().describe('What the minimum of a request adds.'),
      })
      .describe('The same credits by class of tokens. They add up to `credits`.'),
  })
  .meta({ id: 'ChatCost' });
