import type { TaskView } from '../../db/tasks.ts';
import { isTerminal } from '../../domain/task.ts';
import { followTask, type FollowDeps } from './follow-task.ts';

export interface TaskWait {
  /** The longest wait. */
  seconds: number;
  /** Ends the wait early. */
  signal?: AbortSignal;
}

/** Returns the task once it has ended, or its last known state when the wait is over. */
export async function waitForTask(deps: FollowDeps, task: TaskView, { seconds, signal }: TaskWait): Promise<TaskView> {
  if (isTerminal(task.status)) return task;
  const over = AbortSignal.timeout(seconds * 1_000);
  let seen = task;
  for await (const latest of followTask(deps, task.id, signal ? AbortSignal.any([over, signal]) : over)) {
    seen = latest;
    if (isTerminal(seen.status)) break;
  }
  return seen;
}
