import type { Database } from '../database.ts';
import { CreditAccount } from '../entities/credit-account.ts';
import { changesOf, recordAudit } from '../operators/audit.ts';

/** What an operator may change of a project. */
export interface ProjectSettings {
  /** How many credits below zero holds may take the balance; 0 for none. */
  overdraft: number;
}

/**
 * Changes settings of a project under the lock of its account, so that every hold is decided by the settings before or after the change; null
 * if there is no such project. A smaller overdraft takes nothing back: nothing can be held until the balance is above it.
 */
export const updateProjectSettings = (
  database: Database,
  { projectId, changes, actor }: { projectId: string; changes: Partial<ProjectSettings>; actor: string },
): Promise<ProjectSettings | null> =>
  database.transaction('begin', async (_query, inside) => {
    await inside.query('lock-account', 'select lock_accounts(array[$1])', [projectId]);
    const em = await inside.entities();
    const account = await em.findOne(CreditAccount, { project: projectId });
    if (!account) return null;
    const before: ProjectSettings = { overdraft: account.overdraft };
    const after: ProjectSettings = { ...before, ...changes };
    em.assign(account, {
      overdraft: after.overdraft,
      overdraftMax: Math.max(account.overdraftMax, after.overdraft),
    });
    await recordAudit(inside, {
      ...{ actor, action: 'projects.set', subject: projectId },
      ...changesOf(changes, before, after),
    });
    return after;
  });
