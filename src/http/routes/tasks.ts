import { z } from 'zod';
import type { Deps } from '../../deps.ts';
import { listTaskAttempts } from '../../services/tasks/show/list-task-attempts.ts';
import { listTasks } from '../../services/tasks/show/list-tasks.ts';
import { cancelTask } from '../../services/tasks/end/cancel-task.ts';
import { deleteTask } from '../../services/tasks/end/delete-task.ts';
import { presentTask } from '../../services/tasks/show/present-task.ts';
import { listDeliveries } from '../../services/callbacks/list-deliveries.ts';
import { clientRedeliveries, redeliverCallback } from '../../services/callbacks/redeliver-callback.ts';
import { answerTaskRead, showTaskOf, type TaskForm } from '../../services/tasks/show/show-task.ts';
import { metadataLimits, readMetadata } from '../../domain/tasks/task-options.ts';
import { taskStatuses, taskTypes } from '../../domain/tasks/task.ts';
import { timePosition } from '../../domain/time-position.ts';
import { DeliveryList } from '../../schemas/delivery.ts';
import { AttemptList, DeletedTask, Task, TaskList } from '../../schemas/task.ts';
import { requestedTask, keyOf, type AppContext } from '../context.ts';
import { json } from '../description.ts';
import { answerRepresentation } from '../response/etag.ts';
import { createListCodec, pageQuery } from '../request/list-codec.ts';
import { queryChoice, queryParam, queryText, queryTime } from '../request/query.ts';
import { endpoint, type Route } from '../route.ts';
import { notHeld, versioned, waitParameter } from './common-descriptions.ts';
import { getRow, mediaScope, ownTaskScope, postRow, readScope } from './common-rows.ts';
import { taskEventsRoute } from './task-events.ts';
import { waitForEnd, type WaitDeps } from './wait-for-end.ts';

type TaskDeps = WaitDeps &
  Pick<
    Deps,
    'adapters' | 'channels' | 'config' | 'db' | 'files' | 'ledger' | 'sealer' | 'taskAnswers' | 'urls' | 'workflows'
  >;

const path = '/api/v1/tasks/:task_id';
const tag = 'Tasks';
const params = { task_id: z.string().describe('The `task_id` of a create.') };

/** The tasks of the key's project: read, followed, canceled and erased (spec §4.5). */
export const taskRoutes = (deps: TaskDeps): Route[] => [
  listTasksRoute(deps),
  showTask(deps),
  taskEventsRoute(deps, { path: `${path}/events`, params, tag }),
  deleteTaskRoute(deps),
  listDeliveriesRoute(deps),
  listAttemptsRoute(deps),
  endpoint({
    ...postRow(`${path}/cancel`, mediaScope),
    params,
    tag,
    summary: 'Cancel a task',
    description: 'Its credits are refunded. A job that runs and cannot be stopped goes on: 409 `task_not_cancelable`.',
    answers: { 200: { description: 'The canceled task.', content: json(Task) } },
    errors: ['task_not_found', 'task_not_cancelable'],
    handler: async (ctx) => presentTask(deps, await cancelTask(deps, await taskOf(deps, ctx))),
  }),
  endpoint({
    ...postRow(`${path}/callback/redeliver`, mediaScope),
    params,
    tag,
    summary: 'Send the callback again',
    description: 'Of a task that has ended. The callback gets a new id.',
    answers: { 202: { description: 'The task.', content: json(Task) } },
    errors: ['task_not_found', 'task_without_callback', 'task_not_ended', 'task_content_erased'],
    async handler(ctx) {
      const task = await redeliverCallback(deps, await taskOf(deps, ctx), clientRedeliveries);
      ctx.status = 202;
      return presentTask(deps, task);
    },
  }),
];

const tasks = createListCodec('tasks', timePosition);

const listTasksRoute = (deps: TaskDeps): Route =>
  endpoint({
    ...getRow('/api/v1/tasks', readScope),
    isList: true,
    tag,
    summary: 'List tasks',
    description: "The tasks of the key's project, newest first.",
    query: {
      ...pageQuery,
      status: queryChoice('With this status.', taskStatuses),
      type: queryChoice('Of this type.', taskTypes),
      model: queryText('Of this model.'),
      key_id: queryText('Created with this key.'),
      metadata: queryParam(
        'Whose metadata has these values under these names: `metadata[order]=7`.',
        z.record(z.string().min(1).max(metadataLimits.keyCharactersMax), z.string()),
      ),
      created_after: queryTime('Created at this time or later.'),
      created_before: queryTime('Created before this time.'),
    },
    answers: { 200: { description: 'A page of tasks.', content: json(TaskList) } },
    async handler(ctx, query) {
      const filter = {
        projectId: keyOf(ctx).projectId,
        status: query.status,
        type: query.type,
        modelId: query.model,
        keyId: query.key_id,
        metadata: readMetadata(query.metadata) ?? undefined,
        createdFrom: query.created_after,
        createdBefore: query.created_before,
      };
      return tasks.write(await listTasks(deps, filter, tasks.read(query)));
    },
  });

const showTask = (deps: TaskDeps): Route => {
  const form: TaskForm<z.input<typeof Task>> = { name: 'task', present: (task) => presentTask(deps, task) };
  return endpoint({
    ...getRow(path, ownTaskScope),
    params,
    tag,
    summary: 'Read a task',
    description: 'Poll until `status` is `succeeded`, `failed` or `canceled`, or `wait` for it.',
    query: { wait: waitParameter() },
    answers: versioned('The task.', json(Task), { sometimes: notHeld }),
    errors: ['task_not_found'],
    async handler(ctx, { wait }) {
      if (wait !== undefined) await waitForEnd(deps, ctx, await taskOf(deps, ctx), wait);
      answerRepresentation(ctx, await answerTaskRead(deps, requestedTask(ctx), form));
    },
  });
};

const deleteTaskRoute = (deps: TaskDeps): Route =>
  endpoint({
    ...getRow(path, mediaScope),
    method: 'DELETE',
    params,
    tag,
    summary: 'Delete a task',
    description:
      'Of a task that has ended: erases its input, results, files, metadata and callback. What it cost stays in the ledger. The task is 404 from then on.',
    answers: { 200: { description: 'The task is deleted.', content: json(DeletedTask) } },
    errors: ['task_not_found', 'task_not_ended'],
    async handler(ctx) {
      const task = await taskOf(deps, ctx);
      await deleteTask(deps, task);
      return { task_id: task.id, object: 'task', deleted: true };
    },
  });

const deliveries = createListCodec('deliveries', timePosition);

const listDeliveriesRoute = (deps: TaskDeps): Route =>
  endpoint({
    ...getRow(`${path}/deliveries`, ownTaskScope),
    params,
    isList: true,
    tag,
    summary: "List a task's callbacks",
    description: 'Each callback that was or is sent for the task, with its tries, newest first.',
    query: pageQuery,
    answers: { 200: { description: 'A page of callbacks.', content: json(DeliveryList) } },
    errors: ['task_not_found'],
    async handler(ctx, query) {
      const page = deliveries.read(query);
      const { id } = await taskOf(deps, ctx);
      return deliveries.write(await listDeliveries(deps, id, page));
    },
  });

const listAttemptsRoute = (deps: TaskDeps): Route =>
  endpoint({
    ...getRow(`${path}/attempts`, ownTaskScope),
    params,
    isList: true,
    tag,
    summary: "List a task's attempts",
    description: 'Every provider call made for the task: times, outcome and class of error, never the provider.',
    answers: { 200: { description: 'The attempts, in order.', content: json(AttemptList) } },
    errors: ['task_not_found'],
    async handler(ctx) {
      const { id } = await taskOf(deps, ctx);
      return { object: 'list', data: await listTaskAttempts(deps, id) };
    },
  });

const taskOf = (deps: TaskDeps, ctx: AppContext) => showTaskOf(deps, requestedTask(ctx));
