import { z } from 'zod';
import type { CreateDeps } from '../../services/tasks/create/create-media-task.ts';
import { answerTaskRead, type TaskForm } from '../../services/tasks/show/show-task.ts';
import type { Deps } from '../../deps.ts';
import type { TaskView } from '../../domain/tasks/task-view.ts';
import { keyOf, type AppContext } from '../context.ts';
import { json } from '../description.ts';
import { inLegacyWords, toCoreMedia } from '../dialects/legacy/legacy-media.ts';
import {
  legacyCreated,
  legacyResult,
  legacyVideoStatus,
  legacyWorkflowStatus,
  type LegacyTask,
} from '../dialects/legacy/legacy-task.ts';
import { answerRepresentation } from '../response/etag.ts';
import { readIdempotencyKey } from '../request/idempotency-key.ts';
import { Prompt } from '../openapi/media-forms.ts';
import { exampleWith, firstOf } from '../openapi/model-examples.ts';
import { LegacyCreated, LegacyResult, LegacyVideoStatus, LegacyWorkflowStatus } from '../openapi/schemas/legacy.ts';
import { endpoint, type Route } from '../route.ts';
import { created, idempotencyKey, purchase, replayed, versioned } from './common-descriptions.ts';
import { getRow, mediaScope, ownTaskScope, postJsonRow } from './common-rows.ts';
import { createTask } from './media.ts';

type LegacyDeps = CreateDeps & Pick<Deps, 'taskAnswers' | 'taskReader'>;

/** The fields that the former platform names. Those of the model, under our names, are checked by its catalog entry. */
const Create = z
  .looseObject({
    model: z.string().min(1).max(200).describe('The id of a model, or an alias.'),
    type: z.enum(['image', 'video']).nullish().describe('Must be the type of the model.'),
    prompt: Prompt,
    aspectRatio: z.string().nullish().describe('The same setting as `aspect_ratio`.'),
    imageSize: z.string().nullish().describe('The same setting as `img_size`.'),
    images: z
      .union([z.string().min(1), z.array(z.string().min(1))])
      .nullish()
      .describe('One picture or several.'),
    callback_url: z
      .string()
      .regex(/^https:\/\//)
      .nullish()
      .describe('A public https URL. The task is sent to it when it has ended.'),
  })
  .meta({ id: 'LegacyCreate' });

const legacy = { dialect: 'legacy', tag: 'Legacy' } as const;
const createPath = '/api/v1/api/generate';
const result = { path: '/api/v1/api/result', param: 'id', summary: 'Read a result' };
const videoStatus = { path: '/api/v1/video/status', param: 'task_id', summary: 'Read the status of a video' };
const pictureStatus = {
  path: '/api/v1/internal/workflow-status',
  param: 'uuid',
  summary: 'Read the status of a picture',
};

/** The routes for clients of the former platform (spec §4.6). The three reads accept a task of either type, created on any route. */
export const legacyRoutes = (deps: LegacyDeps): Route[] => [
  endpoint({
    ...postJsonRow(createPath, mediaScope),
    ...legacy,
    isCreate: true,
    summary: 'Create a picture or a video',
    description: 'Takes the aliases of the former platform as `model`, and its names of fields beside ours.',
    headers: idempotencyKey,
    accepts: { 'application/json': Create },
    examples: (catalog) =>
      exampleWith(firstOf(catalog, 'image'), 'A picture', (model) => ({
        model,
        type: 'image',
        prompt: 'A red fox in the snow',
      })),
    answers: { 200: { description: 'The ids of the task.', content: json(LegacyCreated), sometimes: replayed } },
    errors: [...purchase, ...created],
    handler: (ctx) => createLegacy(deps, ctx),
  }),
  readRoute(deps, result, legacyResult, LegacyResult),
  readRoute(deps, { ...videoStatus, dialect: 'legacy_data' }, legacyVideoStatus, LegacyVideoStatus),
  // Despite its name this is a client route, with an API key (rules "Keys and auth").
  readRoute(deps, pictureStatus, legacyWorkflowStatus, LegacyWorkflowStatus),
];

async function createLegacy(deps: LegacyDeps, ctx: AppContext): Promise<z.input<typeof LegacyCreated>> {
  const body = ctx.request.body ?? {};
  const task = await createTask(deps, ctx, {
    dialect: 'legacy',
    route: createPath,
    idempotencyKey: readIdempotencyKey(ctx),
    body,
    coreBody: (entry, preset) => toCoreMedia(body, entry, preset),
  }).catch((error: unknown) => {
    throw inLegacyWords(error, body);
  });
  return legacyCreated(toLegacyTask(deps, task));
}

/** A read of the task that the query parameter `param` names. */
function readRoute<Answer extends z.ZodType<object, object>>(
  deps: LegacyDeps,
  { path, param, ...row }: { path: string; param: string; summary: string; dialect?: 'legacy_data' },
  present: (task: LegacyTask) => z.input<Answer>,
  answer: Answer,
): Route {
  const form: TaskForm<z.input<Answer>> = { name: present.name, present: (task) => present(toLegacyTask(deps, task)) };
  return endpoint({
    ...getRow(path, ownTaskScope),
    ...legacy,
    ...row,
    description: 'Of a task of either type, created on any route.',
    query: { [param]: z.string().min(1).describe('The id of the task.') },
    answers: versioned('The task.', json<z.ZodType>(answer)),
    errors: ['task_not_found'],
    async handler(ctx, { [param]: taskId = '' }) {
      answerRepresentation(ctx, await answerTaskRead(deps, { projectId: keyOf(ctx).projectId, taskId }, form));
    },
  });
}

const toLegacyTask = ({ urls }: LegacyDeps, { id, status, progress, errorCode, output }: TaskView): LegacyTask => ({
  id,
  status,
  progress,
  errorCode,
  urls: (output ?? []).map((file) => urls.sign(file.file_id, file.expires_at)),
});
