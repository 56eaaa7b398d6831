import { z } from 'zod';
import { shownClasses } from '../../../domain/catalog/token-classes.ts';

/** What a chat answer cost, as a member of its usage. The gateway adds it to the usage of every vendor's form. */
export const ChatCost = z
  .object({
    credits: z.int().describe('The credits charged, as in `x-tollgate-credits`.'),
    cost_details: z
      .object({
        ...Object.fromEntries(shownClasses.map((tokens) => [tokens, z.int()])),
        minimum: z.int().optional().describe('What the minimum of a request adds.'),
      })
      .describe('The same credits by class of tokens. They add up to `credits`.'),
  })
  .meta({ id: 'ChatCost' });
