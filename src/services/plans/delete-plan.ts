import { deletePlanRow } from '../../db/plans/plans.ts';
import type { Deps } from '../../deps.ts';
import { OperatorError } from '../operator-error.ts';
import { unknownPlan } from './save-plan.ts';

/** Deletes a plan that no project has. Throws `OperatorError` if there is no such plan, or if projects have it. */
export async function deletePlan({ db }: Pick<Deps, 'db'>, plan: { name: string; actor: string }): Promise<void> {
  const deleted = await deletePlanRow(db, plan);
  if (!deleted) throw unknownPlan(plan.name);
  const { usedBy } = deleted;
  if (usedBy.length > 0) {
    throw new OperatorError(
      `The plan ${plan.name} is in use by ${usedBy.join(', ')}. Give them another with projects set --plan. Nothing was changed.`,
    );
  }
}
