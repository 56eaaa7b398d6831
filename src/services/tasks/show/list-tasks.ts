import type { PublicTask } from '../../../schemas/task.ts';
import { listProjectTasks, type ProjectTasksFilter } from '../../../db/tasks/list-tasks.ts';
import type { Deps } from '../../../deps.ts';
import type { Page, PageRequest } from '../../../domain/page.ts';
import { presentTask } from './present-task.ts';

/** One page of a project's tasks, each as a poll shows it. */
export async function listTasks(
  deps: Pick<Deps, 'db' | 'urls'>,
  filter: ProjectTasksFilter,
  page: PageRequest,
): Promise<Page<PublicTask>> {
  const { items, next } = await listProjectTasks(deps.db, filter, page);
  return { items: items.map((task) => presentTask(deps, task)), next };
}
