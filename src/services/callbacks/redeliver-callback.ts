import { startRedelivery, type RedeliveryLimits } from '../../db/callbacks/deliveries.ts';
import { findTask } from '../../db/tasks/tasks.ts';
import type { Deps } from '../../deps.ts';
import { GatewayError } from '../../domain/errors.ts';
import type { TaskView } from '../../domain/tasks/task-view.ts';
import { newId } from '../../platform/crypto/ids.ts';
import { deliveryLimits } from '../tasks/create/plan-task.ts';

const startTimeoutMs = 2_000;

/** For clients: a receiver that lost events asks for each once, and a loop of requests is slowed down. */
export const clientRedeliveries: RedeliveryLimits = { cooldownSeconds: 10, perProjectMax: 100 };
export const anyRedeliveries: RedeliveryLimits = { cooldownSeconds: 0, perProjectMax: null };

/**
 * Starts the callback of an ended task again under a new id. If Temporal is unavailable, a sweep delivers it. With an `actor`, the
 * operator who asks for it is recorded. Throws `task_without_callback`, `task_not_ended`, `task_content_erased` or, beyond the limits,
 * `rate_limit_exceeded`.
 */
export async function redeliverCallback(
  { config, db, workflows }: Pick<Deps, 'config' | 'db' | 'workflows'>,
  task: TaskView,
  limits: RedeliveryLimits,
  actor?: string,
): Promise<TaskView> {
  const deliveryId = newId('dlv');
  const verdict = await startRedelivery(db, { taskId: task.id, deliveryId, eventId: newId('evt'), limits, actor });
  switch (verdict) {
    case 'erased':
      throw new GatewayError('task_content_erased');
    case 'no_callback':
      throw new GatewayError('task_without_callback');
    case 'not_ended':
      throw new GatewayError('task_not_ended', {
        message: 'This task has not ended yet. Its callback is sent when it ends.',
      });
    case 'too_soon':
      throw new GatewayError('rate_limit_exceeded', {
        message: `The callback of this task was sent again less than ${limits.cooldownSeconds} seconds ago.`,
        retryAfterSeconds: limits.cooldownSeconds,
      });
    case 'too_many':
      throw new GatewayError('rate_limit_exceeded', {
        message: `At most ${limits.perProjectMax} callbacks of a project can be sent again at the same time.`,
        retryAfterSeconds: 60,
      });
    case 'started':
      break;
  }
  await workflows.startDelivery(
    { deliveryId, projectId: task.projectId, limits: deliveryLimits(config) },
    startTimeoutMs,
  );
  return (await findTask(db, task.id)) ?? task;
}
