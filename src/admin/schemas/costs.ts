import { z } from 'zod';
import { timestampOrNull } from '../../schemas/time.ts';

export const unknownCosts = z
  .int()
  .describe('Calls whose cost is unknown, such as a chat that broke off. All calls cost at least `cost_micro_usd`.');

export const unknownCostsFrom = timestampOrNull.describe(
  'Calls whose cost is unknown, and clients that left, are counted from this time on: an earlier release has added up what was before. Null if all are counted.',
);

export const costUnknown = z
  .boolean()
  .describe('The cost of the call is unknown: the provider may have billed it. `cost_micro_usd` is 0 then.');

/** Of the requests whose client left. */
export const departures = {
  left: z.int().describe('The client left or canceled, whether it was charged for what came until then or not.'),
  left_charged: z.int().describe('Of those: charged, and counted as succeeded. The others are counted as failed.'),
};
