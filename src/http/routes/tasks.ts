import { listTaskAttempts } from '../../services/tasks/show/list-task-attempts.ts';
import { cancelTask } from '../../services/tasks/end/cancel-task.ts';
import { deleteTask } from '../../services/tasks/end/delete-task.ts';
import { presentTask } from '../../services/tasks/show/present-task.ts';
import { listDeliveries } from '../../services/callbacks/list-deliveries.ts';
import { clientRedeliveries, redeliverCallback } from '../../services/callbacks/redeliver-callback.ts';
import { answerTaskRead, showTaskOf, type TaskForm } from '../../services/tasks/show/show-task.ts';
import { timePosition } from '../../domain/time-position.ts';
import { requestedTask, type AppContext, type AppMiddleware } from '../context.ts';
import { answerRepresentation } from '../response/etag.ts';
import { createListCodec } from '../request/list-codec.ts';
import { queryWait, waitForEnd, type WaitDeps } from './task-wait.ts';

type TaskDeps = Parameters<typeof showTaskOf>[0] & Parameters<typeof presentTask>[0];
type CancelDeps = TaskDeps & Parameters<typeof cancelTask>[0];
type RedeliverDeps = TaskDeps & Parameters<typeof redeliverCallback>[0];

/** `GET /api/v1/tasks/{task_id}` (spec §4.5), with `?wait` as soon as the task has ended. */
export const showTask = (deps: TaskDeps & WaitDeps & Parameters<typeof answerTaskRead>[0]): AppMiddleware => {
  const form: TaskForm = { name: 'task', present: (task) => presentTask(deps, task) };
  return async (ctx) => {
    const request = requestedTask(ctx);
    const seconds = queryWait(ctx);
    if (seconds !== undefined) await waitForEnd(deps, ctx, await showTaskOf(deps, request), seconds);
    answerRepresentation(ctx, await answerTaskRead(deps, request, form));
  };
};

/** `POST /api/v1/tasks/{task_id}/cancel`: the canceled task, or 409 `task_not_cancelable` if the task continues. */
export const cancelTaskRoute =
  (deps: CancelDeps): AppMiddleware =>
  async (ctx) => {
    ctx.body = presentTask(deps, await cancelTask(deps, await ownTask(deps, ctx)));
  };

/** `POST /api/v1/tasks/{task_id}/callback/redeliver`: 202 with the task. The callback starts again under a new id. */
export const redeliverRoute =
  (deps: RedeliverDeps): AppMiddleware =>
  async (ctx) => {
    const task = await redeliverCallback(deps, await ownTask(deps, ctx), clientRedeliveries);
    ctx.status = 202;
    ctx.body = presentTask(deps, task);
  };

/** `GET /api/v1/tasks/{task_id}/attempts`: every attempt of the task, without the channels (rules "Media tasks"). */
export const listAttemptsRoute =
  (deps: TaskDeps): AppMiddleware =>
  async (ctx) => {
    const { id } = await ownTask(deps, ctx);
    ctx.body = { object: 'list', data: await listTaskAttempts(deps, id) };
  };

/** `DELETE /api/v1/tasks/{task_id}`: erases an ended task. */
export const deleteTaskRoute =
  (deps: TaskDeps & Parameters<typeof deleteTask>[0]): AppMiddleware =>
  async (ctx) => {
    const task = await ownTask(deps, ctx);
    await deleteTask(deps, task);
    ctx.body = { task_id: task.id, object: 'task', deleted: true };
  };

const deliveries = createListCodec('deliveries', timePosition);

/** `GET /api/v1/tasks/{task_id}/deliveries`: the callbacks of the task with their tries. */
export const listDeliveriesRoute =
  (deps: TaskDeps): AppMiddleware =>
  async (ctx) => {
    const page = deliveries.read(ctx);
    const { id } = await ownTask(deps, ctx);
    ctx.body = deliveries.write(await listDeliveries(deps, id, page));
  };

const ownTask = (deps: TaskDeps, ctx: AppContext) => showTaskOf(deps, requestedTask(ctx));
