import { startRedelivery } from '../../db/deliveries.ts';
import { findTask, type TaskView } from '../../db/tasks.ts';
import type { Deps } from '../../deps.ts';
import { GatewayError } from '../../domain/errors.ts';
import { newId } from '../../platform/crypto/ids.ts';
import { deliveryLimits } from '../tasks/plan-task.ts';

const startTimeoutMs = 2_000;

/** Starts the callback of an ended task again under a new id. If Temporal is unavailable, a sweep delivers it. */
export async function redeliverCallback(
  { config, db, workflows }: Pick<Deps, 'config' | 'db' | 'workflows'>,
  task: TaskView,
): Promise<TaskView> {
  const deliveryId = newId('dlv');
  const verdict = await startRedelivery(db, { taskId: task.id, deliveryId, eventId: newId('evt') });
  switch (verdict) {
    case 'erased':
      throw new GatewayError('task_content_erased');
    case 'no_callback':
      throw new GatewayError('invalid_value', { message: 'This task has no callback_url.' });
    case 'not_ended':
      throw new GatewayError('invalid_value', {
        message: 'This task has not ended yet. Its callback is sent when it ends.',
      });
    case 'started':
      break;
  }
  await workflows.startDelivery(
    { deliveryId, projectId: task.projectId, limits: deliveryLimits(config.callbacks) },
    startTimeoutMs,
  );
  return (await findTask(db, task.id)) ?? task;
}
