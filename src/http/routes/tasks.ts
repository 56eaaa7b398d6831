import { presentTask } from '../../commands/present-task.ts';
import { showTaskOf } from '../../commands/show-task.ts';
import { keyOf, type AppMiddleware } from '../context.ts';

type TaskDeps = Parameters<typeof showTaskOf>[0] & Parameters<typeof presentTask>[0];

/** `GET /api/v1/tasks/{task_id}` (spec §4.5). */
export const showTask =
  (deps: TaskDeps): AppMiddleware =>
  async (ctx) => {
    const task = await showTaskOf(deps, { projectId: keyOf(ctx).projectId, taskId: ctx.params['task_id'] ?? '' });
    ctx.body = presentTask(deps, task);
  };
