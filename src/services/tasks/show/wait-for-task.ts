import { isTerminal } from '../../../domain/tasks/task.ts';
import type { TaskView } from '../../../domain/tasks/task-view.ts';
import { isStatementAtFault } from '../../keep-writing.ts';
import { followTask, type FollowDeps } from './follow-task.ts';

export interface TaskWait {
  /** The longest wait. */
  seconds: number;
  /** Ends the wait early. */
  signal?: AbortSignal;
}

/**
 * Returns the task once it has ended, or its last known state when the wait is over or the database is unavailable: a task that was accepted must
 * not be answered as a failure.
 */
export async function waitForTask(deps: FollowDeps, task: TaskView, { seconds, signal }: TaskWait): Promise<TaskView> {
  if (isTerminal(task.status)) return task;
  const over = AbortSignal.timeout(seconds * 1_000);
  let seen = task;
  try {
    for await (const latest of followTask(deps, task.id, signal ? AbortSignal.any([over, signal]) : over)) {
      seen = latest;
      if (isTerminal(seen.status)) break;
    }
  } catch (error) {
    if (isStatementAtFault(error)) throw error;
  }
  return seen;
}
