import { z } from 'zod';
import { timestamp } from '../../schemas/time.ts';
import { ReadEntry, ReadParameters } from '../../domain/catalog/catalog.ts';
import { RuleIn } from '../../services/plans/read-plan-rules.ts';
import { modelStateOf } from './catalog.ts';
import { changed, warnings } from './changed.ts';
import { planId } from './ids.ts';

const name = z.string().meta({ examples: ['partners'] });

const rules = z.array(RuleIn.meta({ id: 'PlanRule' })).describe('The first rule that names a model decides about it.');

const plan = {
  plan_id: planId,
  name,
  rules,
  projects: z.int().describe('Projects that have the plan.'),
  created_at: timestamp,
  updated_at: timestamp,
};

export const PlanSchema = z.object(plan).meta({ id: 'Plan' });

export const SavedPlan = z.object({ name, rules, warnings }).meta({ id: 'SavedPlan' });

export const ChangedPlan = z.object({ name, rules, changed, warnings }).meta({ id: 'ChangedPlan' });

export const DeletedPlan = z.object({ name, deleted: z.literal(true) }).meta({ id: 'DeletedPlan' });

const { pricing, type } = ReadEntry.shape;
const { pricingRules } = ReadParameters.shape;
const Prices = z.object({ pricing, pricingRules });

export const PlanPreview = z
  .object({
    ...plan,
    models: z.array(
      z
        .object({
          model: z.string(),
          type,
          status: z.string(),
          state: modelStateOf,
          rule: z
            .int()
            .nullable()
            .describe('The number of the rule that decides, from 1 on. Null: the prices of the catalog.'),
          catalog: Prices.describe('In the catalog.'),
          plan: Prices.describe('Under the plan.'),
        })
        .meta({ id: 'PlannedModel' }),
    ),
    unused: z.array(
      z.object({
        rule: z.int().describe('The number of the rule, from 1 on.'),
        reason: z
          .enum(['earlier_rule', 'no_model', 'no_price'])
          .describe(
            'Earlier rules match all of it; it matches no model of the catalog; its models do not use its prices.',
          ),
        message: z.string(),
      }),
    ),
  })
  .meta({ id: 'PlanPreview' });
