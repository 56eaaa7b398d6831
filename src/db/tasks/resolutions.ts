import type { Database, Statements } from '../database.ts';
import { TaskResolution } from '../entities/task-resolution.ts';

/** What an operator found out about a task with an unknown outcome. */
export interface Resolution {
  outcome: 'bought' | 'not_bought';
  /** Such as the number of the provider's invoice or of a ticket. */
  reference: string;
}

/** Records the resolution of a task once and returns the recorded one, which may be an earlier one. The task's row does not change. */
export async function insertResolution(
  inside: Statements,
  taskId: string,
  { outcome, reference }: Resolution,
): Promise<{ standing: Resolution; changed: boolean } | null> {
  const changed = await inside.returnsRow(
    'operator-resolve-task',
    `insert into task_resolution (task_id, outcome, reference) select id, $2, $3 from task where id = $1
     on conflict (task_id) do nothing returning task_id`,
    [taskId, outcome, reference],
  );
  const standing = await inside.first<Resolution>(
    'operator-resolution',
    'select outcome, reference from task_resolution where task_id = $1',
    [taskId],
  );
  return standing && { standing, changed };
}

/** The recorded resolution of a task; null if there is none. */
export async function findResolution(database: Database, taskId: string): Promise<Resolution | null> {
  const row = await (await database.entities()).findOne(TaskResolution, { taskId });
  return row && { outcome: row.outcome, reference: row.reference };
}
