import { listModels } from '../../db/catalog/models.ts';
import { findPlan, type PlanRow } from '../../db/plans/plans.ts';
import type { Database } from '../../db/database.ts';
import type { PlanRule } from '../../domain/plans/plan.ts';
import type { Deps } from '../../deps.ts';
import type { CatalogEntry } from '../../domain/catalog/catalog.ts';
import { planRuleOf, entryUnderPlan } from '../../domain/plans/price-under-plan.ts';
import { unusedRules, type UnusedRule } from '../../domain/plans/unused-rules.ts';
import { unknownPlan } from './save-plan.ts';

/** The rules of a plan. Throws `UnknownToOperator` if there is none of this name. */
export async function findPlanRules(db: Database, name: string): Promise<readonly PlanRule[]> {
  const plan = await findPlan(db, name);
  if (!plan) throw unknownPlan(name);
  return plan.rules;
}

/** A model with its prices in the catalog and under a plan. */
export interface PlannedModel {
  base: CatalogEntry;
  planned: CatalogEntry;
  /** The number of the rule that decides, from 1 on; null if none does. */
  rule: number | null;
}

/** A plan with the price of every model under it, and its rules that decide nothing. Throws `UnknownToOperator` if there is no such plan. */
export async function showPlan(
  { db }: Pick<Deps, 'db'>,
  name: string,
): Promise<{ plan: PlanRow; models: PlannedModel[]; unused: UnusedRule[] }> {
  const plan = await findPlan(db, name);
  if (!plan) throw unknownPlan(name);
  const { rules } = plan;
  const entries = await listModels(db);
  const models = entries.map((base) => {
    const rule = planRuleOf(rules, base.model);
    return { base, planned: entryUnderPlan(base, rules), rule: rule ? rules.indexOf(rule) + 1 : null };
  });
  return { plan, models, unused: unusedRules(rules, entries) };
}
