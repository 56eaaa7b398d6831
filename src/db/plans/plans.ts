import type { Plan, PlanRule } from '../../domain/plans/plan.ts';
import type { Database, Statements } from '../database.ts';
import { recordAudit } from '../operators/audit.ts';
import { unixSeconds } from '../unix-seconds.ts';

export interface PlanRow extends Plan {
  /** Projects that have the plan. */
  projects: number;
  /** Unix seconds. */
  createdAt: number;
  updatedAt: number;
}

const columns = `p.id as plan_id, p.name, p.revision, p.rules, ${unixSeconds('p.created_at')} as created_at,
  ${unixSeconds('p.updated_at')} as updated_at, (select count(*) from project where plan_id = p.id) as projects`;

/** All plans in the order of their names. They are few. */
export const listPlans = (database: Statements): Promise<PlanRow[]> =>
  database.query<PlanRow>('list-plans', `select ${columns} from plan p order by p.name`);

/** The plan of this name; null if there is none. */
export const findPlan = (database: Statements, name: string): Promise<PlanRow | null> =>
  database.first<PlanRow>(
    'find-plan',
    `select ${columns} from plan p where p.name = $1 or p.id = $1 order by p.name <> $1 limit 1`,
    [name],
  );

/** Adds a plan; false if its name is taken. */
export const insertPlan = (
  database: Database,
  { planId, name, rules, actor }: { planId: string; name: string; rules: readonly PlanRule[]; actor: string },
): Promise<boolean> =>
  database.transaction('begin', async (_query, inside) => {
    const isNew = await inside.returnsRow(
      'add-plan',
      'insert into plan (id, name, rules) values ($1, $2, $3::jsonb) on conflict (name) do nothing returning id',
      [planId, name, JSON.stringify(rules)],
    );
    if (isNew) {
      const after = { name, rules };
      await recordAudit(inside, { actor, action: 'plans.create', subject: planId, before: null, after });
    }
    return isNew;
  });

/** Replaces the rules of a plan; null if there is none of this name. `changed` is false if it had these rules. */
export const updatePlanRules = (
  database: Database,
  { name, rules, actor }: { name: string; rules: readonly PlanRule[]; actor: string },
): Promise<{ changed: boolean } | null> =>
  database.transaction('begin', async (_query, inside) => {
    const before = await lockPlan(inside, name);
    if (!before) return null;
    const changed = await inside.returnsRow(
      'set-plan-rules',
      `update plan set rules = $2::jsonb, revision = revision + 1, updated_at = clock_timestamp()
       where id = $1 and rules <> $2::jsonb returning id`,
      [before.planId, JSON.stringify(rules)],
    );
    if (changed) {
      await recordAudit(inside, {
        actor,
        action: 'plans.set',
        subject: before.planId,
        before: { rules: before.rules },
        after: { rules },
        detail: { name },
      });
    }
    return { changed };
  });

/** Deletes a plan that no project has. Returns the projects that have it, or null if there is no plan of this name. */
export const deletePlanRow = (
  database: Database,
  { name, actor }: { name: string; actor: string },
): Promise<{ usedBy: string[] } | null> =>
  database.transaction('begin', async (_query, inside) => {
    const plan = await lockPlan(inside, name);
    if (!plan) return null;
    const users = await inside.query<{ id: string }>(
      'projects-of-plan',
      'select id from project where plan_id = $1 order by id limit 10',
      [plan.planId],
    );
    if (users.length > 0) return { usedBy: users.map(({ id }) => id) };
    await inside.query('delete-plan', 'delete from plan where id = $1', [plan.planId]);
    const before = { name, rules: plan.rules };
    await recordAudit(inside, { actor, action: 'plans.delete', subject: plan.planId, before, after: null });
    return { usedBy: [] };
  });

/** Locks the plan of a name, so that until the transaction ends no other transaction changes it or gives it to a project. */
const lockPlan = (inside: Statements, name: string) =>
  inside.first<Pick<Plan, 'planId' | 'rules'>>(
    'lock-plan',
    'select id as plan_id, rules from plan where name = $1 for update',
    [name],
  );
