import { openStoredFile } from '../../services/files/open-signed-file.ts';
import { deleteTask } from '../../services/tasks/end/delete-task.ts';
import { listVideos } from '../../services/tasks/show/list-videos.ts';
import { answerTaskRead, showTaskOf, type TaskForm } from '../../services/tasks/show/show-task.ts';
import { GatewayError } from '../../domain/errors.ts';
import { isTerminal } from '../../domain/tasks/task.ts';
import { keyOf, type AppContext, type AppMiddleware } from '../context.ts';
import { inVideoWords, readOpenaiVideo, toCoreOpenaiVideo } from '../dialects/openai-video-request.ts';
import { openaiVideo, openaiVideoList } from '../dialects/openai-video.ts';
import { answerRepresentation } from '../response/etag.ts';
import { readIdempotencyKey } from '../request/idempotency-key.ts';
import { ignoredFields, readingOf, tellIgnored } from '../request/ignored-fields.ts';
import { queryLimit, queryOneOf, queryValue } from '../request/query.ts';
import type { Downloads } from './files.ts';
import { createTask } from './media.ts';

const route = '/v1/videos';

/** `POST /v1/videos`: 200 with the new video. */
export const createVideoObject =
  (deps: Parameters<typeof createTask>[0]): AppMiddleware =>
  async (ctx) => {
    const idempotencyKey = readIdempotencyKey(ctx);
    const body = ctx.request.body ?? {};
    const request = readOpenaiVideo(body, readingOf(ctx));
    const task = await createTask(deps, ctx, {
      dialect: 'openai',
      type: 'video',
      route,
      idempotencyKey,
      body,
      coreBody: (entry) => toCoreOpenaiVideo(request, entry),
    }).catch((error: unknown) => {
      throw inVideoWords(request, error);
    });
    tellIgnored(ctx, ignoredFields(request.leftOut));
    ctx.body = openaiVideo(task);
  };

/** `GET /v1/videos/{id}`. */
export const showVideo =
  (deps: Parameters<typeof answerTaskRead>[0]): AppMiddleware =>
  async (ctx) => {
    answerRepresentation(ctx, await answerTaskRead(deps, requestedVideo(ctx), videoForm));
  };

/** A task of another type is no video. */
const videoForm: TaskForm = {
  name: 'openai-video',
  present(task) {
    if (task.type !== 'video') throw new GatewayError('task_not_found');
    return openaiVideo(task);
  },
};

/** The query parameters of `listVideosRoute`. */
export const videoListQuery = ['after', 'limit', 'order'];

/** `GET /v1/videos`: newest first, unless `order` is `asc`. */
export const listVideosRoute =
  (deps: Parameters<typeof listVideos>[0]): AppMiddleware =>
  async (ctx) => {
    const after = queryValue(ctx, 'after');
    const { items, next } = await listVideos(deps, {
      projectId: keyOf(ctx).projectId,
      limit: queryLimit(ctx, { fallback: 20, max: 100 }),
      oldestFirst: queryOneOf(ctx, 'order', ['asc', 'desc']) === 'asc',
      ...(after !== undefined && { after }),
    });
    ctx.body = openaiVideoList(items, next !== null);
  };

/** `DELETE /v1/videos/{id}`: erases a video that is ready or failed. */
export const deleteVideo =
  (deps: Parameters<typeof showTaskOf>[0] & Parameters<typeof deleteTask>[0]): AppMiddleware =>
  async (ctx) => {
    const task = await ownVideo(deps, ctx);
    await deleteTask(deps, task);
    ctx.body = { id: task.id, object: 'video.deleted', deleted: true };
  };

/** `GET /v1/videos/{id}/content`: the stored clip, whole or one range of it. */
export const showVideoContent =
  (
    deps: Parameters<typeof showTaskOf>[0] & Parameters<typeof openStoredFile>[0],
    downloads: Downloads,
  ): AppMiddleware =>
  async (ctx) => {
    queryOneOf(ctx, 'variant', ['video']);
    const task = await ownVideo(deps, ctx);
    const { projectId } = task;
    const [output] = task.output ?? [];
    if (!output) throw withoutContent(task);
    await downloads.enter(ctx, projectId);
    const file = await openStoredFile(deps, output.file_id);
    if (!file) throw new GatewayError('task_content_erased');
    await downloads.send(ctx, file, { id: output.file_id, expires: output.expires_at, projectId });
  };

function withoutContent({ status }: Awaited<ReturnType<typeof showTaskOf>>): GatewayError {
  if (status === 'succeeded') return new GatewayError('task_content_erased');
  const message = isTerminal(status)
    ? 'The video was not made, so it has no content.'
    : 'The video is not ready yet. Retrieve it until its status is completed.';
  return new GatewayError('file_not_found', { message });
}

async function ownVideo(deps: Parameters<typeof showTaskOf>[0], ctx: AppContext) {
  const task = await showTaskOf(deps, requestedVideo(ctx));
  if (task.type !== 'video') throw new GatewayError('task_not_found');
  return task;
}

const requestedVideo = (ctx: AppContext) => ({ projectId: keyOf(ctx).projectId, taskId: ctx.params['video_id'] ?? '' });
