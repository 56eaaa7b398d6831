import { listModels } from '../../db/catalog/models.ts';
import { insertPlan, updatePlanRules } from '../../db/plans/plans.ts';
import type { Deps } from '../../deps.ts';
import type { PlanRule } from '../../domain/plans/plan.ts';
import { unusedRules } from '../../domain/plans/unused-rules.ts';
import { newId } from '../../platform/crypto/ids.ts';
import { OperatorError, UnknownToOperator } from '../operator-error.ts';
import { demandBoundedPrices } from './bounded-prices.ts';

interface PlanToSave {
  name: string;
  rules: PlanRule[];
  actor: string;
}

/** Creates a plan. Returns a warning for each rule that decides no price. Throws `OperatorError` for a taken name and a price that is too high. */
export async function createPlan(
  { db }: Pick<Deps, 'db'>,
  plan: PlanToSave,
): Promise<{ planId: string; warnings: string[] }> {
  const warnings = await checkRules({ db }, plan.rules);
  const planId = newId('pln');
  if (!(await insertPlan(db, { planId, ...plan }))) {
    throw new OperatorError(`There is already a plan ${plan.name}. Change it with plans set.`);
  }
  return { planId, warnings };
}

/**
 * Replaces the rules of a plan. The new prices apply to requests that are priced from then on; what is held keeps its price. Throws as
 * `createPlan` does, and `UnknownToOperator` if there is no such plan.
 */
export async function setPlan(
  { db }: Pick<Deps, 'db'>,
  plan: PlanToSave,
): Promise<{ changed: boolean; warnings: string[] }> {
  const warnings = await checkRules({ db }, plan.rules);
  const updated = await updatePlanRules(db, plan);
  if (!updated) throw unknownPlan(plan.name);
  return { ...updated, warnings };
}

export const unknownPlan = (name: string): UnknownToOperator => new UnknownToOperator(`There is no plan ${name}.`);

async function checkRules({ db }: Pick<Deps, 'db'>, rules: readonly PlanRule[]): Promise<string[]> {
  const entries = await listModels(db);
  demandBoundedPrices('these rules', entries, rules);
  return unusedRules(rules, entries).map(({ message }) => message);
}
