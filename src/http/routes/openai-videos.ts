import { z } from 'zod';
import type { Deps } from '../../deps.ts';
import type { CreateDeps } from '../../services/tasks/create/create-media-task.ts';
import { openStoredFile } from '../../services/files/open-signed-file.ts';
import { deleteTask } from '../../services/tasks/end/delete-task.ts';
import { listVideos } from '../../services/tasks/show/list-videos.ts';
import { answerTaskRead, showTaskOf, type TaskForm } from '../../services/tasks/show/show-task.ts';
import { GatewayError } from '../../domain/errors.ts';
import { isTerminal } from '../../domain/tasks/task.ts';
import { keyOf, type AppContext } from '../context.ts';
import { json } from '../description.ts';
import {
  inVideoWords,
  OpenaiVideoBody,
  readOpenaiVideo,
  toCoreOpenaiVideo,
} from '../dialects/openai/openai-video-request.ts';
import { openaiVideo, openaiVideoList } from '../dialects/openai/openai-video.ts';
import { answerRepresentation } from '../response/etag.ts';
import { readIdempotencyKey } from '../request/idempotency-key.ts';
import { ignoredFields, readingOf, tellIgnored } from '../request/ignored-fields.ts';
import { Prompt, VideoForm } from '../openapi/media-forms.ts';
import { exampleWith, firstOf } from '../openapi/model-examples.ts';
import { DeletedVideo, OpenaiVideo, OpenaiVideos } from '../openapi/schemas/openai-videos.ts';
import { queryAnyText, queryChoice, queryNumber } from '../request/query.ts';
import { endpoint, type Route } from '../route.ts';
import { created, idempotencyKey, ignored, purchase, replayed, versioned } from './common-descriptions.ts';
import { getRow, mediaScope, ownTaskScope, postPartsRow, readScope } from './common-rows.ts';
import { fileAnswers, type Downloads } from './files.ts';
import { createTask } from './media.ts';

type VideoDeps = CreateDeps & Pick<Deps, 'taskAnswers' | 'taskReader' | 'urls'>;

const route = '/v1/videos';
const VideoRequest = OpenaiVideoBody.extend({ prompt: Prompt }).meta({ id: 'OpenaiVideoRequest' });
const path = `${route}/:video_id`;
const video = {
  tag: 'Videos',
  params: { video_id: z.string().describe('The id of the video, which is that of its task.') },
} as const;

/** Clips for OpenAI's SDKs. */
export const openaiVideoRoutes = (deps: VideoDeps, downloads: Downloads): Route[] => [
  createVideoRoute(deps),
  listVideosRoute(deps),
  endpoint({
    ...getRow(path, ownTaskScope),
    ...video,
    skipsQuery: true,
    summary: 'Read a video, for SDKs of OpenAI',
    answers: versioned('The video.', json(OpenaiVideo)),
    errors: ['task_not_found'],
    async handler(ctx) {
      answerRepresentation(ctx, await answerTaskRead(deps, requestedVideo(ctx), videoForm(deps)));
    },
  }),
  endpoint({
    ...getRow(path, mediaScope),
    ...video,
    method: 'DELETE',
    summary: 'Delete a video, for SDKs of OpenAI',
    description: 'Of a video that is ready or failed: erases its prompt, its inputs and its clip.',
    answers: { 200: { description: 'The video is deleted.', content: json(DeletedVideo) } },
    errors: ['task_not_found', 'task_not_ended'],
    async handler(ctx) {
      const task = await ownVideo(deps, ctx);
      await deleteTask(deps, task);
      return { id: task.id, object: 'video.deleted', deleted: true };
    },
  }),
  contentRoute(deps, downloads),
];

const createVideoRoute = (deps: VideoDeps): Route =>
  endpoint({
    ...postPartsRow(route, mediaScope),
    body: 'json_or_form',
    isCreate: true,
    summary: 'Create a video, for SDKs of OpenAI',
    description: 'Answers as soon as the task is accepted. JSON, or a form with the file `input_reference`.',
    tag: 'Videos',
    headers: idempotencyKey,
    accepts: { 'application/json': VideoRequest, 'multipart/form-data': VideoForm },
    examples: (catalog) =>
      exampleWith(firstOf(catalog, 'video'), 'A clip', (model) => ({ model, prompt: 'A paper boat on a river' })),
    answers: { 200: { description: 'The video.', content: json(OpenaiVideo), sometimes: { ...replayed, ...ignored } } },
    errors: [...purchase, ...created],
    async handler(ctx) {
      const idempotencyKey = readIdempotencyKey(ctx);
      const body = ctx.request.body ?? {};
      const request = readOpenaiVideo(body, readingOf(ctx));
      const task = await createTask(deps, ctx, {
        dialect: 'openai',
        type: 'video',
        route,
        idempotencyKey,
        takesUndelivered: true,
        body,
        allAliases: true,
        coreBody: (entry, preset) => ({ ...preset, ...toCoreOpenaiVideo(request, entry) }),
      }).catch((error: unknown) => {
        throw inVideoWords(request, error);
      });
      tellIgnored(ctx, ignoredFields(request.leftOut));
      return openaiVideo(deps, task);
    },
  });

/** A task of another type is no video. */
const videoForm = (deps: VideoDeps): TaskForm<z.input<typeof OpenaiVideo>> => ({
  name: 'openai-video',
  present(task) {
    if (task.type !== 'video') throw new GatewayError('task_not_found');
    return openaiVideo(deps, task);
  },
});

const listVideosRoute = (deps: VideoDeps): Route =>
  endpoint({
    ...getRow(route, readScope),
    isList: true,
    summary: 'List videos, for SDKs of OpenAI',
    tag: 'Videos',
    query: {
      limit: queryNumber(
        'The most videos; 20 if absent. A page of large videos has fewer: `has_more` tells whether there are others.',
        { max: 100 },
      ),
      after: queryAnyText('The `last_id` of the page before.'),
      order: queryChoice('`desc`, the newest first, if absent.', ['asc', 'desc']),
    },
    answers: { 200: { description: 'The videos.', content: json(OpenaiVideos) } },
    async handler(ctx, { limit = 20, after, order }) {
      const { items, next } = await listVideos(deps, {
        projectId: keyOf(ctx).projectId,
        limit,
        oldestFirst: order === 'asc',
        ...(after !== undefined && { after }),
      });
      return openaiVideoList(deps, items, next !== null);
    },
  });

/** The stored clip, whole or one range of it. */
const contentRoute = (deps: VideoDeps, downloads: Downloads): Route =>
  endpoint({
    ...getRow(`${path}/content`, ownTaskScope),
    ...video,
    // Earlier versions of LiteLLM repeat the id in the query.
    skipsQuery: true,
    summary: 'Download a video, for SDKs of OpenAI',
    description: 'Supports `Range`.',
    query: { variant: queryChoice('Only `video`.', ['video']) },
    answers: fileAnswers,
    errors: ['task_not_found', 'file_not_found', 'task_content_erased'],
    async handler(ctx) {
      const task = await ownVideo(deps, ctx);
      const { projectId } = task;
      const [output] = task.output ?? [];
      if (!output) throw withoutContent(task);
      await downloads.enter(ctx, projectId);
      const file = await openStoredFile(deps, output.file_id);
      if (!file) throw new GatewayError('task_content_erased');
      await downloads.send(ctx, file, { id: output.file_id, expires: output.expires_at, projectId });
    },
  });

function withoutContent({ status }: Awaited<ReturnType<typeof showTaskOf>>): GatewayError {
  if (status === 'succeeded') return new GatewayError('task_content_erased');
  const message = isTerminal(status)
    ? 'The video was not made, so it has no content.'
    : 'The video is not ready yet. Retrieve it until its status is completed.';
  return new GatewayError('file_not_found', { message });
}

async function ownVideo(deps: VideoDeps, ctx: AppContext) {
  const task = await showTaskOf(deps, requestedVideo(ctx));
  if (task.type !== 'video') throw new GatewayError('task_not_found');
  return task;
}

const requestedVideo = (ctx: AppContext) => ({ projectId: keyOf(ctx).projectId, taskId: ctx.params['video_id'] ?? '' });
