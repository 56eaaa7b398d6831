import type { Statements } from '../database.ts';

/** Who asked for a task, with the names that people gave. */
export interface TaskOwner {
  keyId: string;
  keyName: string;
  projectName: string;
}

/** The key and the project of each of these tasks, by its id. */
export async function findTaskOwners(
  database: Statements,
  taskIds: readonly string[],
): Promise<Map<string, TaskOwner>> {
  const rows = await database.query<TaskOwner & { id: string }>(
    'find-task-owners',
    `select t.id, t.key_id, coalesce((select k.name from api_key k where k.id = t.key_id), '') as key_name,
       coalesce((select p.name from project p where p.id = t.project_id), '') as project_name
     from unnest($1::text[]) requested (id) cross join lateral (select * from task where task.id = requested.id limit 1) t`,
    [taskIds],
  );
  return new Map(rows.map(({ id, ...owner }) => [id, owner]));
}
