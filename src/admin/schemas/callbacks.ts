import { z } from 'zod';
import { Delivery } from '../../schemas/delivery.ts';
import { eventTypes } from '../../services/callbacks/sample-task.ts';
import { projectId, taskId } from './ids.ts';

export const ListedDeliverySchema = Delivery.extend({
  task_id: taskId,
  project_id: projectId,
  project_name: z.string(),
  host: z.string().nullable().describe('Of the address that it goes to. Null once the task is erased.'),
}).meta({
  id: 'ListedDelivery',
});

export const TestCallbackSchema = z
  .object({
    event_id: z.string().describe('The `webhook-id`.'),
    type: z.enum(eventTypes),
    url: z.string(),
    status: z.int().nullable().describe("The receiver's HTTP status, if it answered."),
    error: z.string().nullable().describe('Why there was no answer.'),
    ok: z.boolean(),
  })
  .meta({ id: 'TestCallback' });

export const PassedCallbacks = z.object({ accepted: z.int(), refused: z.int() });
