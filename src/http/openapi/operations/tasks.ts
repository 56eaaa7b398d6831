import { z } from 'zod';
import { metadataLimits } from '../../../domain/tasks/task-options.ts';
import { taskStatuses, taskTypes } from '../../../domain/tasks/task.ts';
import { DeliveryList } from '../../../schemas/delivery.ts';
import { AttemptList, DeletedTask, Task, TaskList } from '../../../schemas/task.ts';
import { EventText } from '../schemas/chat-completion.ts';
import { json, type Operation, type Parameter } from '../operation.ts';
import { notHeld, notModified, pageParameters, validated, wait } from './shared.ts';

const taskId: Parameter = {
  name: 'task_id',
  in: 'path',
  description: 'The `task_id` of a create.',
  schema: z.string(),
};

/** PostgreSQL stores no NUL. */
const text = z
  .string()
  .max(200)
  .regex(/^[^\0]*$/);
const unixSeconds = z.int().min(0).max(9_999_999_999);

export const taskOperations: Record<string, Operation> = {
  'GET /api/v1/tasks': {
    summary: 'List tasks',
    description: "The tasks of the key's project, newest first.",
    tag: 'Tasks',
    parameters: [
      ...pageParameters,
      { name: 'status', in: 'query', description: 'With this status.', schema: z.enum(taskStatuses) },
      { name: 'type', in: 'query', description: 'Of this type.', schema: z.enum(taskTypes) },
      { name: 'model', in: 'query', description: 'Of this model.', schema: text },
      { name: 'key_id', in: 'query', description: 'Created with this key.', schema: text },
      {
        name: 'metadata',
        in: 'query',
        description: 'Whose metadata has these values under these names: `metadata[order]=7`.',
        schema: z.record(z.string().min(1).max(metadataLimits.keyCharactersMax), z.string()),
        style: 'deepObject',
      },
      { name: 'created_after', in: 'query', description: 'Created at this time or later.', schema: unixSeconds },
      { name: 'created_before', in: 'query', description: 'Created before this time.', schema: unixSeconds },
    ],
    answers: { 200: { description: 'A page of tasks.', content: json(TaskList) } },
  },
  'GET /api/v1/tasks/{task_id}': {
    summary: 'Read a task',
    description: 'Poll until `status` is `succeeded`, `failed` or `canceled`, or `wait` for it.',
    tag: 'Tasks',
    parameters: [taskId, wait],
    answers: {
      200: { description: 'The task.', content: json(Task), headers: validated, sometimes: notHeld },
      304: notModified,
    },
    errors: ['task_not_found'],
  },
  'GET /api/v1/tasks/{task_id}/events': {
    summary: 'Follow a task',
    description:
      'Server-Sent Events: `task.updated` with the task as it is and after each change, and at the end `task.succeeded`, `task.failed` or `task.canceled`.',
    tag: 'Tasks',
    parameters: [
      taskId,
      {
        name: 'Last-Event-ID',
        in: 'header',
        description: 'The `id` of the last event that the client received: only what has changed since is sent.',
        schema: z.string(),
      },
    ],
    answers: {
      200: { description: 'The events.', content: { 'text/event-stream': EventText } },
      204: { description: 'The client has received the end.' },
    },
    errors: ['task_not_found'],
  },
  'DELETE /api/v1/tasks/{task_id}': {
    summary: 'Delete a task',
    description:
      'Of a task that has ended: erases its input, results, files, metadata and callback. What it cost stays in the ledger. The task is 404 from then on.',
    tag: 'Tasks',
    parameters: [taskId],
    answers: { 200: { description: 'The task is deleted.', content: json(DeletedTask) } },
    errors: ['task_not_found', 'task_not_ended'],
  },
  'GET /api/v1/tasks/{task_id}/deliveries': {
    summary: "List a task's callbacks",
    description: 'Each callback that was or is sent for the task, with its tries, newest first.',
    tag: 'Tasks',
    parameters: [taskId, ...pageParameters],
    answers: { 200: { description: 'A page of callbacks.', content: json(DeliveryList) } },
    errors: ['task_not_found'],
  },
  'GET /api/v1/tasks/{task_id}/attempts': {
    summary: "List a task's attempts",
    description: 'Every provider call made for the task: times, outcome and class of error, never the provider.',
    tag: 'Tasks',
    parameters: [taskId],
    answers: { 200: { description: 'The attempts, in order.', content: json(AttemptList) } },
    errors: ['task_not_found'],
  },
  'POST /api/v1/tasks/{task_id}/cancel': {
    summary: 'Cancel a task',
    description: 'Its credits are refunded. A job that runs and cannot be stopped goes on: 409 `task_not_cancelable`.',
    tag: 'Tasks',
    parameters: [taskId],
    answers: { 200: { description: 'The canceled task.', content: json(Task) } },
    errors: ['task_not_found', 'task_not_cancelable'],
  },
  'POST /api/v1/tasks/{task_id}/callback/redeliver': {
    summary: 'Send the callback again',
    description: 'Of a task that has ended. The callback gets a new id.',
    tag: 'Tasks',
    parameters: [taskId],
    answers: { 202: { description: 'The task.', content: json(Task) } },
    errors: ['task_not_found', 'task_without_callback', 'task_not_ended', 'task_content_erased'],
  },
};
