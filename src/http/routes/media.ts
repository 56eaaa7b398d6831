import { createMediaTask } from '../../commands/tasks/create-media-task.ts';
import { presentTask } from '../../commands/tasks/present-task.ts';
import type { TaskType } from '../../domain/task.ts';
import { keyOf, type AppMiddleware } from '../context.ts';
import { readIdempotencyKey } from '../idempotency-key.ts';

type MediaDeps = Parameters<typeof createMediaTask>[0] & Parameters<typeof presentTask>[0];

/** `POST /api/v1/images/generate` (spec §4.4): 202 with the task and its URL in `Location`. */
export const createImage = (deps: MediaDeps): AppMiddleware => createMedia(deps, 'image', '/api/v1/images/generate');

/** `POST /api/v1/video/generate` (spec §4.4). */
export const createVideo = (deps: MediaDeps): AppMiddleware => createMedia(deps, 'video', '/api/v1/video/generate');

const createMedia =
  (deps: MediaDeps, type: TaskType, route: string): AppMiddleware =>
  async (ctx) => {
    const { task, replayed } = await createMediaTask(deps, {
      requestId: ctx.state.requestId,
      key: keyOf(ctx),
      dialect: 'openai',
      type,
      route,
      idempotencyKey: readIdempotencyKey(ctx),
      body: ctx.request.body ?? {},
    });
    ctx.state.modelId = task.modelId;
    ctx.state.creditsQuoted = task.credits.quoted;
    ctx.status = 202;
    ctx.set('Location', `/api/v1/tasks/${task.id}`);
    if (replayed) ctx.set('Idempotent-Replayed', 'true');
    ctx.body = presentTask(deps, task);
  };
