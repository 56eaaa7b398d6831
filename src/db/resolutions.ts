import type { Database } from './database.ts';
import { TaskResolution } from './entities/task-resolution.ts';

/** What an operator found out about a task whose outcome upstream was not known. */
export interface Resolution {
  outcome: 'bought' | 'not_bought';
  /** The provider's, or a ticket's. */
  reference: string;
}

/** Closes the case of a task, once: what was written first stands and is answered. The task's own row is not touched. */
export async function insertResolution(
  database: Database,
  taskId: string,
  { outcome, reference }: Resolution,
): Promise<{ standing: Resolution; changed: boolean } | null> {
  const inserted = await database.query(
    'operator-resolve-task',
    `insert into task_resolution (task_id, outcome, reference) values ($1, $2, $3)
     on conflict (task_id) do nothing returning task_id`,
    [taskId, outcome, reference],
  );
  const standing = await findResolution(database, taskId);
  return standing && { standing, changed: inserted.length > 0 };
}

/** How an operator has closed the case of this task; null while it is open. */
export async function findResolution(database: Database, taskId: string): Promise<Resolution | null> {
  const row = await (await database.orm()).em.fork().findOne(TaskResolution, { taskId });
  return row && { outcome: row.outcome, reference: row.reference };
}
