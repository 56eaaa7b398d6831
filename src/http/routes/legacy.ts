import { answerTaskRead, type TaskForm } from '../../services/tasks/show/show-task.ts';
import type { Deps } from '../../deps.ts';
import { GatewayError } from '../../domain/errors.ts';
import type { JsonObject } from '../../domain/json.ts';
import { keyOf, type AppContext, type AppMiddleware } from '../context.ts';
import { inLegacyWords, toCoreMedia } from '../dialects/legacy-media.ts';
import {
  legacyCreated,
  legacyResult,
  legacyVideoStatus,
  legacyWorkflowStatus,
  type LegacyTask,
} from '../dialects/legacy-task.ts';
import { answerRepresentation } from '../response/etag.ts';
import { readIdempotencyKey } from '../request/idempotency-key.ts';
import { queryValue } from '../request/query.ts';
import type { Route } from '../route.ts';
import { createTask } from './media.ts';

type LegacyDeps = Parameters<typeof createTask>[0] & Parameters<typeof answerTaskRead>[0] & Pick<Deps, 'urls'>;

/**
 * The routes for clients of the former platform (spec §4.6). The three reads accept a task of either type, created on any route.
 */
export function legacyRoutes(deps: LegacyDeps): Route[] {
  const client = { auth: 'api_key', dialect: 'legacy' } as const;
  const create = { ...client, scopes: ['media'], method: 'POST' } as const;
  const read = { ...client, scopes: ['media', 'read'], method: 'GET', body: 'none' } as const;
  return [
    { ...create, path: createPath, body: 'json', isCreate: true, handler: createLegacy(deps) },
    { ...read, path: '/api/v1/api/result', ...readLegacy(deps, 'id', legacyResult) },
    {
      ...read,
      path: '/api/v1/video/status',
      dialect: 'legacy_data',
      ...readLegacy(deps, 'task_id', legacyVideoStatus),
    },
    // Despite its name this is a client route, with an API key (rules "Keys and auth").
    { ...read, path: '/api/v1/internal/workflow-status', ...readLegacy(deps, 'uuid', legacyWorkflowStatus) },
  ];
}

const createPath = '/api/v1/api/generate';

const createLegacy =
  (deps: LegacyDeps): AppMiddleware =>
  async (ctx) => {
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
    ctx.body = legacyCreated(toLegacyTask(deps, task));
  };

/** A read of the task that the query parameter `param` names. */
const readLegacy = (
  deps: LegacyDeps,
  param: string,
  present: (task: LegacyTask) => JsonObject,
): Pick<Route, 'query' | 'handler'> => {
  const form: TaskForm = { name: present.name, present: (task) => present(toLegacyTask(deps, task)) };
  return {
    query: [param],
    handler: async (ctx) => {
      const request = { projectId: keyOf(ctx).projectId, taskId: demandTaskId(ctx, param) };
      answerRepresentation(ctx, await answerTaskRead(deps, request, form));
    },
  };
};

function demandTaskId(ctx: AppContext, param: string): string {
  const value = queryValue(ctx, param);
  if (value !== undefined) return value;
  throw new GatewayError('missing_parameter', { message: `The query parameter ${param} is required.`, param });
}

type TaskView = Parameters<TaskForm['present']>[0];

const toLegacyTask = ({ urls }: LegacyDeps, { id, status, progress, errorCode, output }: TaskView): LegacyTask => ({
  id,
  status,
  progress,
  errorCode,
  urls: (output ?? []).map((file) => urls.sign(file.file_id, file.expires_at)),
});
