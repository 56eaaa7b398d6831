import { scopes } from '../domain/scope.ts';
import type { HttpDeps } from './http-deps.ts';
import type { Route } from './route.ts';
import { chatCompletions, v1ChatCompletions } from './routes/chat.ts';
import { documentationRoutes } from './routes/documentation.ts';
import { showFile } from './routes/files.ts';
import { geminiGeneration } from './routes/gemini.ts';
import { legacyRoutes } from './routes/legacy.ts';
import { jobRoutes } from './routes/jobs.ts';
import { createImage, createVideo } from './routes/media.ts';
import { countTokens, messages } from './routes/messages.ts';
import { listModels, showModel } from './routes/models.ts';
import { responses } from './routes/responses.ts';
import { listTasksRoute, taskListQuery } from './routes/task-list.ts';
import { cancelTaskRoute, listAttemptsRoute, redeliverRoute, showTask } from './routes/tasks.ts';
import { demandRoom, uploadImageRoute } from './routes/uploads.ts';

/** The dependencies of all handlers. Each handler takes its own part. */
export type RouteDeps = HttpDeps &
  Parameters<typeof createImage>[0] &
  Parameters<typeof listModels>[0] &
  Parameters<typeof showTask>[0] &
  Parameters<typeof listTasksRoute>[0] &
  Parameters<typeof cancelTaskRoute>[0] &
  Parameters<typeof chatCompletions>[0] &
  Parameters<typeof geminiGeneration>[0] &
  Parameters<typeof legacyRoutes>[0] &
  Parameters<typeof jobRoutes>[0] &
  Parameters<typeof redeliverRoute>[0] &
  Parameters<typeof uploadImageRoute>[0] &
  Parameters<typeof documentationRoutes>[0];

const client = { auth: 'api_key', dialect: 'openai' } as const;
/** The scopes that open a route. A client that creates tasks may read them without the scope of reading the whole project. */
const chat = { scopes: ['chat'] } as const;
const media = { scopes: ['media'] } as const;
const read = { scopes: ['read'] } as const;
const ownTask = { scopes: ['media', 'read'] } as const;
const anyScope = { scopes } as const;
const get = { ...client, method: 'GET', body: 'none' } as const;
const postJson = { ...client, method: 'POST', body: 'json' } as const;
const post = { ...client, method: 'POST', body: 'none' } as const;
/** The SDKs' beta methods name themselves in the query. */
const anthropic = { ...postJson, ...chat, dialect: 'anthropic', query: ['beta'] } as const;

/** Every route of the service with its authentication, error dialect, body and handler. */
export function createRoutes(deps: RouteDeps): readonly Route[] {
  const routes = serviceRoutes(deps);
  return [...routes, ...documentationRoutes(deps, routes)];
}

const serviceRoutes = (deps: RouteDeps): Route[] => [
  { ...get, ...anyScope, path: '/api/v1/models', handler: listModels(deps) },
  { ...get, ...anyScope, path: '/api/v1/models/:model', handler: showModel(deps) },
  { ...postJson, ...chat, path: '/api/v1/chat/completions', rate: 'in_handler', handler: chatCompletions(deps) },
  { ...postJson, ...chat, path: '/v1/chat/completions', rate: 'in_handler', handler: v1ChatCompletions(deps) },
  { ...postJson, ...chat, path: '/v1/responses', rate: 'in_handler', handler: responses(deps) },
  { ...anthropic, path: '/v1/messages', rate: 'in_handler', handler: messages(deps) },
  { ...anthropic, path: '/v1/messages/count_tokens', handler: countTokens(deps) },
  {
    ...post,
    ...media,
    path: '/api/v1/images/upload',
    body: 'picture',
    beforeBody: [demandRoom(deps)],
    handler: uploadImageRoute(deps),
  },
  { ...postJson, ...media, path: '/api/v1/images/generate', handler: createImage(deps) },
  { ...postJson, ...media, path: '/api/v1/video/generate', handler: createVideo(deps) },
  { ...get, ...read, path: '/api/v1/tasks', query: taskListQuery, handler: listTasksRoute(deps) },
  { ...get, ...ownTask, path: '/api/v1/tasks/:task_id', handler: showTask(deps) },
  { ...get, ...ownTask, path: '/api/v1/tasks/:task_id/attempts', handler: listAttemptsRoute(deps) },
  { ...post, ...media, path: '/api/v1/tasks/:task_id/cancel', handler: cancelTaskRoute(deps) },
  { ...post, ...media, path: '/api/v1/tasks/:task_id/callback/redeliver', handler: redeliverRoute(deps) },
  ...legacyRoutes(deps),
  ...geminiRoutes(geminiGeneration(deps)),
  ...jobRoutes(deps),
  {
    method: 'GET',
    path: '/files/:id',
    auth: 'signed',
    dialect: 'openai',
    body: 'none',
    query: ['expires', 'signature'],
    handler: showFile(deps),
  },
];

/**
 * What Google's clients send (https://cloud.google.com/apis/docs/system-parameters): the format of the answer, and whether it is
 * indented, which is taken and has no effect.
 */
const geminiQuery = ['alt', '$alt', 'prettyPrint', '$prettyPrint'];

/** Two actions of one model. The colon before the action is part of the path segment. */
function geminiRoutes({ generate, stream }: ReturnType<typeof geminiGeneration>): Route[] {
  const shared = {
    ...postJson,
    // The handler demands the scope of the model's type.
    scopes: ['chat', 'media'],
    dialect: 'gemini',
    rate: 'in_handler',
    query: geminiQuery,
  } as const;
  return [
    { ...shared, path: '/api/v1beta/models/:model\\:generateContent', handler: generate },
    { ...shared, path: '/api/v1beta/models/:model\\:streamGenerateContent', handler: stream },
  ];
}
