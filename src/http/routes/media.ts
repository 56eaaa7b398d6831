import { z } from 'zod';
import { createMediaTask, type CreateDeps } from '../../services/tasks/create/create-media-task.ts';
import { noteUndelivered } from '../../services/tasks/create/undelivered.ts';
import { presentTask } from '../../services/tasks/show/present-task.ts';
import { quoteMediaTask } from '../../services/tasks/create/quote-media-task.ts';
import { isTerminal, type TaskType } from '../../domain/tasks/task.ts';
import { Quote, Task } from '../../schemas/task.ts';
import { keyOf, noteModelIn, type AppContext } from '../context.ts';
import { json } from '../description.ts';
import { createBody } from '../openapi/media-bodies.ts';
import { modelExamples } from '../openapi/model-examples.ts';
import { readIdempotencyKey } from '../request/idempotency-key.ts';
import { createFailed } from '../middleware/answer-errors.ts';
import { endpoint, type Route } from '../route.ts';
import { whenLost } from '../server/client-gone.ts';
import { created, idempotencyKey, notHeld, purchase, replayed, waitParameter } from './common-descriptions.ts';
import { mediaScope, postJsonRow } from './common-rows.ts';
import { waitForEnd, type WaitDeps } from './wait-for-end.ts';

type MediaDeps = CreateDeps & WaitDeps;

/** The creates of tasks for pictures and clips (spec §4.4). */
export const mediaRoutes = (deps: MediaDeps): Route[] => [
  createRoute(deps, 'image', '/api/v1/images/generate'),
  createRoute(deps, 'video', '/api/v1/video/generate'),
];

const polled = { Location: 'The path to poll.' };

const createRoute = (deps: MediaDeps, type: TaskType, path: string): Route =>
  endpoint({
    ...postJsonRow(path, mediaScope),
    isCreate: true,
    summary: type === 'image' ? 'Create a picture' : 'Create a video',
    description: [
      'Answers as soon as the task is accepted. Poll the task at `Location`, or give a `callback_url`.',
      'The price follows from the parameters, is shown as `credits.quoted`, and never rises. The credits of a task that does not succeed are refunded.',
      'Choose a `model`: the fields depend on it.',
    ].join('\n\n'),
    tag: type === 'image' ? 'Images' : 'Videos',
    query: { wait: waitParameter() },
    headers: idempotencyKey,
    accepts: {
      'application/json': ({ catalog, named, limits: { imageDeadlineSeconds, videoDeadlineSeconds } }) =>
        createBody(catalog, type, named, type === 'image' ? imageDeadlineSeconds : videoDeadlineSeconds),
    },
    examples: (catalog) => modelExamples(catalog, type),
    answers: {
      200: {
        description: 'The ended task, with `wait`; the price, for `dry_run`.',
        content: json(z.union([Task, Quote])),
        sometimes: { ...polled, ...replayed },
      },
      202: {
        description: type === 'image' ? 'The task of the picture.' : 'The task of the video.',
        content: json(Task),
        headers: polled,
        sometimes: { ...replayed, ...notHeld },
      },
    },
    errors: [...purchase, ...created],
    async handler(ctx, { wait: seconds }) {
      const idempotencyKey = readIdempotencyKey(ctx);
      const body = ctx.request.body ?? {};
      const takesUndelivered = seconds !== undefined;
      const input = { dialect: 'openai', type, route: path, idempotencyKey, takesUndelivered, body } as const;
      if (body.dry_run === true) return quoteMediaTask(deps, requestOf(ctx, input));
      const accepted = await createTask(deps, ctx, input);
      const task = seconds === undefined ? accepted : await waitForEnd(deps, ctx, accepted, seconds);
      ctx.status = seconds !== undefined && isTerminal(task.status) ? 200 : 202;
      ctx.set('Location', `/api/v1/tasks/${task.id}`);
      return presentTask(deps, task);
    },
  });

/** A create request as the route has read it. */
export type CreateInput = Omit<Parameters<typeof createMediaTask>[1], 'requestId' | 'key'>;

export const requestOf = (ctx: AppContext, input: CreateInput) => ({
  requestId: ctx.state.requestId,
  key: keyOf(ctx),
  noteModel: noteModelIn(ctx),
  ...input,
});

/**
 * Creates the task of a request in any dialect. Marks a replay, and notes the model and the quoted credits for the detail row. If the client
 * of a request with `takesUndelivered` does not get the whole answer, the task goes to its next equal request. Throws `CreateFailed` for
 * every error on our side.
 */
export async function createTask(deps: CreateDeps, ctx: AppContext, input: CreateInput) {
  const { task, replayed } = await createMediaTask(deps, requestOf(ctx, input)).catch((error: unknown) => {
    throw createFailed(error, { idempotencyKey: input.idempotencyKey });
  });
  if (input.takesUndelivered && input.idempotencyKey === null) {
    whenLost(ctx, () => noteUndelivered(deps, requestOf(ctx, input), task.id));
  }
  ctx.state.acceptedTaskId = task.id;
  ctx.state.modelId = task.modelId;
  ctx.state.creditsQuoted = task.credits.quoted;
  if (replayed) ctx.set('Idempotent-Replayed', 'true');
  return task;
}
