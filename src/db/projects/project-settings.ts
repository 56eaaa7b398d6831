import type { Database, Statements } from '../database.ts';
import type { TraceContent } from '../../domain/projects/trace-content.ts';
import { loadEntities } from '../entities/load-entities.ts';
import { changesOf, recordAudit } from '../operators/audit.ts';

/** What an operator may change of a project. */
export interface ProjectSettings {
  name: string;
  /** What operators note about it; null for nothing. */
  note: string | null;
  /** The name of its plan; null for the prices of the catalog. */
  plan: string | null;
  /** How many credits below zero holds may take the balance; 0 for none. */
  overdraft: number;
  /** At which credits the project is told: numbers, or percents of its last top-up; null for never. */
  alertAt: string[] | null;
  /** Where `balance.low` is posted. */
  alertUrl: string | null;
  alertMail: string[] | null;
  /** How much of its chats' content traces have; null for nothing. */
  traceContent: TraceContent | null;
}

/**
 * Changes settings of a project under the lock of its account, so that every hold is decided by the settings before or after the change. A
 * smaller overdraft takes nothing back: nothing can be held until the balance is above it. `unknown_project` and `unknown_plan` change nothing.
 */
export const updateProjectSettings = (
  database: Database,
  { projectId, changes, actor }: { projectId: string; changes: Partial<ProjectSettings>; actor: string },
): Promise<ProjectSettings | 'unknown_project' | 'unknown_plan'> =>
  database.transaction('begin', async (_query, inside) => {
    await inside.query('lock-account', 'select lock_accounts(array[$1])', [projectId]);
    const { CreditAccount, Project } = await loadEntities();
    const em = await inside.entities();
    const account = await em.findOne(CreditAccount, { project: projectId });
    const project = await em.findOne(Project, { id: projectId });
    if (!account || !project) return 'unknown_project';
    const before: ProjectSettings = {
      name: project.name,
      note: project.note ?? null,
      plan: project.planId == null ? null : await nameOfPlan(inside, project.planId),
      overdraft: account.overdraft,
      alertAt: project.alertAt ?? null,
      alertUrl: project.alertUrl ?? null,
      alertMail: project.alertMail ?? null,
      traceContent: project.traceContent ?? null,
    };
    const after: ProjectSettings = { ...before, ...changes };
    const planId = after.plan === null ? null : await holdPlan(inside, after.plan);
    if (after.plan !== null && planId === null) return 'unknown_plan';
    const { name, note, alertAt, alertUrl, alertMail, traceContent } = after;
    em.assign(project, { name, note, planId, alertAt, alertUrl, alertMail, traceContent });
    em.assign(account, {
      overdraft: after.overdraft,
      overdraftMax: Math.max(account.overdraftMax, after.overdraft),
    });
    await recordAudit(inside, {
      actor,
      action: 'projects.set',
      subject: projectId,
      ...changesOf(changes, before, after),
    });
    return after;
  });

const nameOfPlan = async (inside: Statements, planId: string): Promise<string | null> =>
  (await inside.first<{ name: string }>('name-of-plan', 'select name from plan where id = $1', [planId]))?.name ?? null;

/** The id of the plan of a name, which no other transaction deletes until this one ends; null if there is none. */
const holdPlan = async (inside: Statements, name: string): Promise<string | null> =>
  (await inside.first<{ id: string }>('hold-plan', 'select id from plan where name = $1 for key share', [name]))?.id ??
  null;
