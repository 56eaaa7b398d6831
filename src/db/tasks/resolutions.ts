import type { Database } from '../database.ts';
import { loadEntities } from '../entities/load-entities.ts';
import { recordAudit } from '../operators/audit.ts';

/** What an operator found out about a task with an unknown outcome. */
export interface Resolution {
  outcome: 'bought' | 'not_bought';
  /** Such as the number of the provider's invoice or of a ticket. */
  reference: string;
}

/**
 * Records the resolution of a task once and returns the recorded one, which may be an earlier one; null if there is no such task. The
 * task's row does not change.
 */
export const insertResolution = (
  database: Database,
  { taskId, outcome, reference, actor }: Resolution & { taskId: string; actor: string },
): Promise<{ standing: Resolution; changed: boolean } | null> =>
  database.transaction('begin', async (_query, inside) => {
    const changed = await inside.returnsRow(
      'operator-resolve-task',
      `insert into task_resolution (task_id, outcome, reference) select id, $2, $3 from task where id = $1 for key share
       on conflict (task_id) do nothing returning task_id`,
      [taskId, outcome, reference],
    );
    const standing = await inside.first<Resolution>(
      'operator-resolution',
      'select outcome, reference from task_resolution where task_id = $1',
      [taskId],
    );
    if (!standing) return null;
    if (changed) {
      await recordAudit(inside, {
        actor,
        action: 'tasks.resolve',
        subject: taskId,
        before: { outcome: 'unknown', reference: null },
        after: { outcome, reference },
      });
    }
    return { standing, changed };
  });

/** The recorded resolution of a task; null if there is none. */
export async function findResolution(database: Database, taskId: string): Promise<Resolution | null> {
  const { TaskResolution } = await loadEntities();
  const row = await (await database.entities()).findOne(TaskResolution, { taskId });
  return row && { outcome: row.outcome, reference: row.reference };
}
