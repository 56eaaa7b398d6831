import { listProjectTasks, positionOfTask } from '../../../db/tasks/list-tasks.ts';
import type { Deps } from '../../../deps.ts';
import { GatewayError, quoted } from '../../../domain/errors.ts';
import { isId } from '../../../platform/crypto/ids.ts';

/**
 * One page of a project's video tasks. `after` is the id of the last one of the page before: throws `invalid_value` if the project has no
 * such video.
 */
export async function listVideos(
  { db }: Pick<Deps, 'db'>,
  { projectId, after, oldestFirst, limit }: { projectId: string; after?: string; oldestFirst: boolean; limit: number },
) {
  const type = 'video';
  const isTask = after !== undefined && isId('task', after);
  const position = isTask ? await positionOfTask(db, { projectId, type, taskId: after }) : null;
  if (after !== undefined && position === null) {
    const message = `after: there is no video ${quoted(after)}.`;
    throw new GatewayError('invalid_value', { message, param: 'after' });
  }
  return listProjectTasks(db, { projectId, type, oldestFirst }, { limit, after: position });
}
