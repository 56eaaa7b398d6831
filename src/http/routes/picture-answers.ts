import type { z } from 'zod';
import { readOutputs } from '../../services/files/read-outputs.ts';
import type { CreateDeps } from '../../services/tasks/create/create-media-task.ts';
import type { FollowDeps } from '../../services/tasks/show/follow-task.ts';
import { noteUndelivered } from '../../services/tasks/create/undelivered.ts';
import { presentTask } from '../../services/tasks/show/present-task.ts';
import { waitForTask } from '../../services/tasks/show/wait-for-task.ts';
import { GatewayError } from '../../domain/errors.ts';
import { taskRefusal } from '../../domain/tasks/task-refusal.ts';
import type { TaskView } from '../../domain/tasks/task-view.ts';
import { isTerminal } from '../../domain/tasks/task.ts';
import { createFairBudget, type Share } from '../../platform/fair-budget.ts';
import { whenGone } from '../server/client-gone.ts';
import { keyOf, type AppContext } from '../context.ts';
import type { AnsweredPicture } from '../dialects/answered-picture.ts';
import type { GeminiResponse, Predictions } from '../openapi/schemas/gemini-response.ts';
import type { OpenaiImages } from '../openapi/schemas/openai-images.ts';
import { readIdempotencyKey } from '../request/idempotency-key.ts';
import { createTask, requestOf, type CreateInput } from './media.ts';

type PictureDeps = CreateDeps & FollowDeps;

/** A request for pictures in the words of a dialect, which has read its body. */
export interface PictureRequest extends Required<
  Pick<CreateInput, 'dialect' | 'route' | 'body' | 'coreBody' | 'allAliases'>
> {
  /** Whether the pictures are wanted as bytes and not as URLs. */
  isInline: boolean;
  /** Whether the client polls the task instead of waiting for its pictures. */
  isAsync?: boolean;
  /** Renames the field of a refusal by the shared checks. */
  inItsWords: (error: unknown) => unknown;
  write: (answer: {
    task: TaskView;
    pictures: readonly AnsweredPicture[];
  }) => z.input<typeof OpenaiImages | typeof GeminiResponse | typeof Predictions>;
}

/** Clients of other vendors come through proxies that cut an answer after 100 s (Cloudflare's free plans), the creation of the task included. */
const PROXY_WAIT_SECONDS = 85;

/** How long a request waits for its pictures: as configured, and outside of `/api` no longer than proxies do. */
export const pictureWaitSeconds = (path: string, configured: number): number =>
  path.startsWith('/api/') ? configured : Math.min(configured, PROXY_WAIT_SECONDS);

/** Creates a task for pictures, waits for it, and returns the answer as text. */
export type AnswerPictures = (ctx: AppContext, request: PictureRequest) => Promise<string>;

/**
 * The routes that answer with the pictures themselves share these waits and this memory. A task that is not ready in time is 504 with its
 * id: it continues and is charged when it succeeds.
 */
export function createPictureAnswers(deps: PictureDeps): AnswerPictures {
  const inlined = createFairBudget({
    total: deps.config.imageAnswers.inlineBufferedMaxBytes,
    message: 'The server is sending too many inline images at the same time. Try again in a few seconds.',
  });
  const waits = createFairBudget({
    total: deps.config.imageAnswers.waitsMax,
    message: 'Too many requests wait for an image. Try again in a few seconds.',
    retryAfterSeconds: 5,
  });
  return async (ctx, request) => {
    // A waiting request occupies an in-flight slot for minutes. Waiting requests must not take all slots.
    const { projectId } = keyOf(ctx);
    const idempotencyKey = readIdempotencyKey(ctx);
    if (request.isAsync) return startPictures(deps, ctx, { ...request, idempotencyKey });
    const wait = waits.open(projectId);
    wait.take(1);
    const memory = inlined.open(projectId);
    try {
      return await answerPictures(deps, ctx, { ...request, idempotencyKey }, memory);
    } finally {
      wait.release();
      releaseWithAnswer(ctx, memory);
    }
  };
}

/** 202 with the task, as a create of the core routes answers. */
async function startPictures(
  deps: PictureDeps,
  ctx: AppContext,
  { inItsWords, ...input }: PictureRequest & { idempotencyKey: string | null },
): Promise<string> {
  const task = await createPictures(deps, ctx, { ...input, inItsWords });
  ctx.status = 202;
  ctx.set('Location', `/api/v1/tasks/${task.id}`);
  return JSON.stringify(presentTask(deps, task));
}

const createPictures = (
  deps: PictureDeps,
  ctx: AppContext,
  { inItsWords, ...input }: Pick<PictureRequest, 'inItsWords'> & Omit<CreateInput, 'type'>,
) =>
  createTask(deps, ctx, { ...input, type: 'image', takesUndelivered: true }).catch((error: unknown) => {
    throw inItsWords(error);
  });

/** Counts the answer until the client has read it or has disconnected, because it stays in memory after the handler ends. */
function releaseWithAnswer({ res }: AppContext, memory: Share): void {
  if (res.closed) memory.release();
  else res.once('close', () => memory.release());
}

/** The most memory of an inlined picture: its bytes while it is read, then the answer with its base64. */
const bytesOfInlined = (bytes: number): number => bytes + 4 * Math.ceil(bytes / 3);

async function answerPictures(
  deps: PictureDeps,
  ctx: AppContext,
  { isInline, write, ...input }: PictureRequest & { idempotencyKey: string | null },
  memory: Share,
): Promise<string> {
  const { waitSeconds, inlineMaxBytes } = deps.config.imageAnswers;
  const isUnkeyed = input.idempotencyKey === null;
  const task = await createPictures(deps, ctx, input);
  const taskId = task.id;
  // If the client has left, `createTask` has noted it.
  const note = async () => !ctx.res.closed && noteUndelivered(deps, requestOf(ctx, input), taskId);
  const ended = await waitForTask(deps, task, {
    seconds: pictureWaitSeconds(ctx.path, waitSeconds),
    signal: whenGone(ctx),
  });
  if (!isTerminal(ended.status)) {
    const again = isUnkeyed ? (await note()) && 'again within ten minutes' : 'with the same Idempotency-Key';
    const how = again ? `Poll the task, or send the same request ${again}.` : 'Poll the task.';
    const message = `The image is not ready yet. The task ${taskId} continues and is charged when it succeeds. ${how}`;
    throw new GatewayError('upstream_timeout', { message, shouldRetry: false, accepted: 'yes', taskId });
  }
  if (ended.status !== 'succeeded') throw taskRefusal(ended, isUnkeyed);

  const pictures = await readOutputs(deps, ended.output ?? [], {
    bytesMax: isInline ? inlineMaxBytes : 0,
    mayHold: (bytes) => memory.mayTake(bytesOfInlined(bytes)),
  }).catch(async (cause: unknown) => {
    // The task is charged. Without an Idempotency-Key a retry might buy a second one, and 503 would say that it did not run.
    const message = `The image is made and charged, but cannot be read right now. Get it from the task ${taskId}.`;
    const accepted = { cause, message, accepted: 'yes', taskId } as const;
    if (!isUnkeyed) throw new GatewayError('service_unavailable', accepted);
    await note();
    throw new GatewayError('upstream_timeout', { ...accepted, shouldRetry: false });
  });
  if (!pictures || pictures.length === 0) throw new GatewayError('idempotency_result_gone', { taskId });
  ctx.set('x-tollgate-credits', String(ended.credits.charged));
  ctx.set('x-tollgate-attempts', String(ended.attempts));
  return JSON.stringify(write({ task: ended, pictures }));
}
