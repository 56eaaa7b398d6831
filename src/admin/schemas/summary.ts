import { z } from 'zod';
import { timestamp, timestampOrNull } from '../../schemas/time.ts';
import { tokenParts } from '../../schemas/token-parts.ts';
import { departures, unknownCosts, unknownCostsFrom } from './costs.ts';

const sums = {
  requests: z.int(),
  successes: z.int(),
  failures: z.int(),
  ...departures,
  credits_charged: z.int(),
  cost_micro_usd: z.int(),
  unknown_costs: unknownCosts,
  margin_micro_usd: z.int(),
  input_tokens: z.int(),
  output_tokens: z.int(),
  ...tokenParts,
};

const planOfProject = z
  .string()
  .nullable()
  .describe('The plan that the project has now. Null: the prices of the catalog.');

const SummaryRowSchema = z
  .object({
    project_id: z.string(),
    project_name: z.string(),
    plan: planOfProject,
    model: z.string().describe('Empty for credits that belong to no model.'),
    channel_id: z.string(),
    channel: z.string().nullable().describe('Null if the channel was deleted or there was none.'),
    ...sums,
  })
  .meta({ id: 'SummaryRow' });

export const Summary = z
  .object({
    month: z.string().meta({ examples: ['2030-01'] }),
    built_at: timestamp,
    frozen_at: timestampOrNull.describe('Null while the month is rebuilt every day.'),
    credit_value_micro_usd: z.int(),
    unknown_costs_from: unknownCostsFrom,
    data: z.array(SummaryRowSchema),
    plans: z
      .array(z.object({ plan: planOfProject, ...sums }))
      .describe('The sums of the projects that have each plan now, by its name; those without a plan come last.'),
    totals: z.object(sums),
  })
  .meta({ id: 'Summary' });
