import { z } from 'zod';
import { tokenParts } from '../../schemas/token-parts.ts';
import { departures, unknownCosts, unknownCostsFrom } from './costs.ts';

const Sums = z.object({
  requests: z.int(),
  succeeded: z.int().describe('Charged, also for what came until the client left.'),
  failed: z.int().describe('Refunded for another reason than a refusal, also canceled by the client.'),
  refused: z
    .int()
    .describe('Refunded because the provider refused the request as invalid, too long or against its content policy.'),
  ...departures,
  credits: z.int().describe('Charged, less what was given back.'),
  cost_micro_usd: z.int().describe('Of the calls to providers that began in the range.'),
  unknown_costs: unknownCosts,
  margin_micro_usd: z.int().describe('The worth of the credits less the cost.'),
  input_tokens: z.int(),
  output_tokens: z.int(),
  ...tokenParts,
});

const SpendRow = Sums.extend({
  day: z.string().nullable().describe('`YYYY-MM-DD` in the zone.'),
  hour: z.string().nullable().describe('`YYYY-MM-DDTHH:00` in the zone.'),
  model: z.string().nullable(),
  project_id: z.string().nullable(),
  project_name: z.string().nullable(),
  key_id: z.string().nullable(),
  key_name: z.string().nullable(),
  channel_id: z.string().nullable(),
  channel: z.string().nullable().describe('The present name of the channel; null if it was deleted.'),
  type: z.string().nullable().describe('Of the model; null if the catalog does not have it any more.'),
  is_rest: z.boolean().describe('All groups that are not among the largest, as one.'),
}).meta({ id: 'SpendRow' });

/** What the requests of a range came to, for operators. What is not grouped by is null. */
export const SpendAnswer = z
  .object({ object: z.literal('list'), data: z.array(SpendRow), total: Sums, unknown_costs_from: unknownCostsFrom })
  .meta({ id: 'Spend' });
