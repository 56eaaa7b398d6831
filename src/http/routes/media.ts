import { createMediaTask } from '../../services/tasks/create/create-media-task.ts';
import { presentTask } from '../../services/tasks/show/present-task.ts';
import { quoteMediaTask } from '../../services/tasks/create/quote-media-task.ts';
import { isTerminal, type TaskType } from '../../domain/tasks/task.ts';
import { keyOf, type AppContext, type AppMiddleware } from '../context.ts';
import { readIdempotencyKey } from '../request/idempotency-key.ts';
import { createFailed } from '../middleware/answer-errors.ts';
import { queryWait, waitForEnd, type WaitDeps } from './task-wait.ts';

type MediaDeps = CreateDeps & WaitDeps & Parameters<typeof presentTask>[0];

/** `POST /api/v1/images/generate` (spec §4.4): 202 with the task and its URL in `Location`, or a quote for a dry run. With `?wait` 200 if
 * the task has ended by then. */
export const createImage = (deps: MediaDeps): AppMiddleware => createMedia(deps, 'image', '/api/v1/images/generate');

/** `POST /api/v1/video/generate` (spec §4.4). */
export const createVideo = (deps: MediaDeps): AppMiddleware => createMedia(deps, 'video', '/api/v1/video/generate');

const createMedia =
  (deps: MediaDeps, type: TaskType, route: string): AppMiddleware =>
  async (ctx) => {
    const idempotencyKey = readIdempotencyKey(ctx);
    const seconds = queryWait(ctx);
    const body = ctx.request.body ?? {};
    const input = { dialect: 'openai', type, route, idempotencyKey, body } as const;
    if (body.dry_run === true) {
      ctx.body = await quoteMediaTask(deps, { requestId: ctx.state.requestId, key: keyOf(ctx), ...input });
      return;
    }
    const created = await createTask(deps, ctx, input);
    const task = seconds === undefined ? created : await waitForEnd(deps, ctx, created, seconds);
    ctx.status = seconds !== undefined && isTerminal(task.status) ? 200 : 202;
    ctx.set('Location', `/api/v1/tasks/${task.id}`);
    ctx.body = presentTask(deps, task);
  };

type CreateDeps = Parameters<typeof createMediaTask>[0];
/** A create request as the route has read it. */
export type CreateInput = Omit<Parameters<typeof createMediaTask>[1], 'requestId' | 'key'>;

/**
 * Creates the task of a request in any dialect. Marks a replay, and notes the model and the quoted credits for the detail row. Throws
 * `CreateFailed` for every error on our side.
 */
export async function createTask(deps: CreateDeps, ctx: AppContext, input: CreateInput) {
  const request = { requestId: ctx.state.requestId, key: keyOf(ctx), ...input };
  const { task, replayed } = await createMediaTask(deps, request).catch((error: unknown) => {
    throw createFailed(error, { idempotencyKey: input.idempotencyKey });
  });
  ctx.state.acceptedTaskId = task.id;
  ctx.state.modelId = task.modelId;
  ctx.state.creditsQuoted = task.credits.quoted;
  if (replayed) ctx.set('Idempotent-Replayed', 'true');
  return task;
}
