import { finishTasks, type Finish, type TaskEnd } from '../ledger/ledger.ts';
import type { TaskView } from '../../domain/tasks/task-view.ts';
import type { Database } from '../database.ts';
import { recordAudit } from '../operators/audit.ts';
import { retryTransient } from '../retry-transient.ts';
import { findTask } from './tasks.ts';

/** Cancels a task for an operator, once, with its audit entry. `end` is that of a cancel. Throws if there is no such task. */
export const forceCancel = (
  database: Database,
  { end, actor }: { end: TaskEnd; actor: string },
): Promise<{ finish: Finish; task: TaskView }> =>
  retryTransient(() =>
    database.transaction('begin', async (_query, inside) => {
      const { taskId } = end;
      const before = await findTask(inside, taskId);
      const [finish] = await finishTasks(inside, [end]);
      const task = await findTask(inside, taskId);
      if (!finish || !before || !task) throw new Error(`the task ${taskId} was deleted while it was canceled`);
      if (finish.finished) {
        await recordAudit(inside, {
          actor,
          action: 'tasks.cancel',
          subject: taskId,
          before: stateOf(before),
          after: stateOf(task),
          detail: { projectId: task.projectId },
        });
      }
      return { finish, task };
    }),
  );

const stateOf = ({ status, credits }: TaskView) => ({ status, refunded: credits.refunded });
