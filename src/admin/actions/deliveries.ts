import { z } from 'zod';
import { listOf } from '../../schemas/list.ts';
import { presentDelivery } from '../../services/callbacks/list-deliveries.ts';
import { deliveryStates } from '../../domain/callbacks/delivery-state.ts';
import { deliverySortColumns, listAllDeliveries, type OperatorDelivery } from '../../db/callbacks/list-deliveries.ts';
import { ListedDeliverySchema } from '../schemas/callbacks.ts';
import { group, option, action } from '../define-action.ts';
import { shortText } from '../input.ts';
import { listInput, listRequest } from '../list-input.ts';
import { time } from '../plain-text.ts';
import { listReport } from '../report.ts';

/** `tollgate deliveries …`: the callbacks of tasks. */
export const deliveryActions = group('the callbacks of tasks', () => ({ list }));

const list = action({
  summary: 'list callbacks with their tries, newest first',
  input: {
    project: option('<id>', shortText.optional()).describe('show only this project'),
    task: option('<id>', shortText.optional()).describe('show only this task'),
    host: option('<host>', shortText.optional()).describe(
      'show only callbacks to this host, such as hooks.example.com',
    ),
    state: option('<state>', z.enum(deliveryStates).optional()).describe('show only callbacks in this state'),
    ...listInput('all-deliveries', deliverySortColumns, { time: 'created_at' }),
  },
  route: { method: 'GET', path: '/deliveries', role: 'viewer' },
  answer: listOf(ListedDeliverySchema),
  needs: 'database',
  async run({ db }, { project: projectId, task: taskId, state, host, ...page }) {
    const toLine = (delivery: OperatorDelivery) => ({
      delivery_id: delivery.id,
      task_id: delivery.taskId,
      project_id: delivery.projectId,
      host: delivery.host,
      state: delivery.state,
      tries: delivery.attempts,
      last_status: delivery.lastStatus,
      created_at: time(delivery.createdAt),
      next_attempt_at: time(delivery.nextAttemptAt),
    });
    return listReport(await listAllDeliveries(db, { projectId, taskId, state, host }, listRequest(page)), toLine, {
      list: 'all-deliveries',
      nothing: 'There are no callbacks.',
      toDocument: (delivery) => ({
        ...presentDelivery(delivery),
        task_id: delivery.taskId,
        project_id: delivery.projectId,
        project_name: delivery.projectName,
        host: delivery.host,
      }),
    });
  },
});
