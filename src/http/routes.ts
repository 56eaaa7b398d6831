import { GatewayError } from '../domain/errors.ts';
import { scopes } from '../domain/projects/scope.ts';
import type { AppContext, AppMiddleware } from './context.ts';
import { anthropicModels } from './dialects/anthropic-models.ts';
import { geminiModels } from './dialects/gemini-models.ts';
import type { ModelForm } from './dialects/model-form.ts';
import { openaiModels } from './dialects/openai-models.ts';
import { strictly } from './dialects/reading.ts';
import type { HttpDeps } from './http-deps.ts';
import { readingOf } from './request/ignored-fields.ts';
import { pageQuery } from './request/list-codec.ts';
import type { Route } from './route.ts';
import { accountRoutes } from './routes/account.ts';
import { streamWebhookEvents } from './routes/webhook-events.ts';
import { webhookKeysRoute } from './routes/webhook-keys.ts';
import { chatCompletions, v1ChatCompletions } from './routes/chat.ts';
import { documentationRoutes } from './routes/documentation.ts';
import { createDownloads, showFile, type Downloads } from './routes/files.ts';
import { countGeminiTokens, geminiGeneration, v1GeminiGeneration } from './routes/gemini.ts';
import { predictPictures } from './routes/gemini-predict.ts';
import { legacyRoutes } from './routes/legacy.ts';
import { scheduledJobRoutes } from './routes/scheduled-jobs.ts';
import { mcpRoute } from './routes/mcp.ts';
import { createImage, createVideo } from './routes/media.ts';
import { countMessageTokens, messages } from './routes/messages.ts';
import { listModels, showModel } from './routes/models.ts';
import { editImages, generateImages } from './routes/openai-images.ts';
import {
  createVideoObject,
  deleteVideo,
  listVideosRoute,
  showVideo,
  showVideoContent,
  videoListQuery,
} from './routes/openai-videos.ts';
import { createPictureAnswers, type AnswerPictures } from './routes/picture-answers.ts';
import { countResponseTokens, responses } from './routes/responses.ts';
import { streamTaskEvents } from './routes/task-events.ts';
import { listTasksRoute, taskListQuery } from './routes/task-list.ts';
import {
  cancelTaskRoute,
  deleteTaskRoute,
  listAttemptsRoute,
  listDeliveriesRoute,
  redeliverRoute,
  showTask,
} from './routes/tasks.ts';
import { demandCapacity, uploadImageRoute } from './routes/uploads.ts';
import { vendorOf } from './vendor.ts';

/** The dependencies of all handlers. Each handler takes its own part. */
export type RouteDeps = HttpDeps &
  Parameters<typeof createImage>[0] &
  Parameters<typeof accountRoutes>[0] &
  Parameters<typeof listModels>[0] &
  Parameters<typeof showTask>[0] &
  Parameters<typeof listTasksRoute>[0] &
  Parameters<typeof streamTaskEvents>[0] &
  Parameters<typeof streamWebhookEvents>[0] &
  Parameters<typeof cancelTaskRoute>[0] &
  Parameters<typeof deleteTaskRoute>[0] &
  Parameters<typeof chatCompletions>[0] &
  Parameters<typeof createPictureAnswers>[0] &
  Parameters<typeof legacyRoutes>[0] &
  Parameters<typeof mcpRoute>[0] &
  Parameters<typeof scheduledJobRoutes>[0] &
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
/** The routes of other vendors, whose clients send pictures and documents in their requests. */
const postParts = { ...postJson, body: 'json_with_parts', skipsQuery: true } as const;
const post = { ...client, method: 'POST', body: 'none' } as const;
/** The SDKs' beta methods name themselves in the query. */
const anthropic = { ...postParts, ...chat, dialect: 'anthropic', query: ['beta'] } as const;

/** Every route of the service with its authentication, error dialect, body and handler. */
export function createRoutes(deps: RouteDeps): readonly Route[] {
  const routes = serviceRoutes(deps);
  return [...routes, ...documentationRoutes(deps, routes)];
}

function serviceRoutes(deps: RouteDeps): Route[] {
  const answerPictures = createPictureAnswers(deps);
  const downloads = createDownloads();
  return [
    ...coreRoutes(deps, downloads),
    ...accountRoutes(deps),
    webhookKeysRoute(deps),
    ...legacyRoutes(deps),
    ...v1Routes(deps, answerPictures, downloads),
    ...geminiRoutes(deps, answerPictures),
    mcpRoute(deps),
    ...scheduledJobRoutes(deps),
  ];
}

const coreRoutes = (deps: RouteDeps, downloads: Downloads): Route[] => [
  { ...get, ...anyScope, path: '/api/v1/models', isList: true, handler: listModels(deps) },
  { ...get, ...anyScope, path: '/api/v1/models/:model', handler: showModel(deps) },
  { ...postJson, ...chat, path: '/api/v1/chat/completions', rate: 'in_handler', handler: chatCompletions(deps) },
  {
    ...post,
    ...media,
    path: '/api/v1/images/upload',
    body: 'picture',
    beforeBody: [demandCapacity(deps)],
    handler: uploadImageRoute(deps),
  },
  {
    ...postJson,
    ...media,
    path: '/api/v1/images/generate',
    isCreate: true,
    query: ['wait'],
    handler: createImage(deps),
  },
  {
    ...postJson,
    ...media,
    path: '/api/v1/video/generate',
    isCreate: true,
    query: ['wait'],
    handler: createVideo(deps),
  },
  { ...get, ...read, path: '/api/v1/tasks', isList: true, query: taskListQuery, handler: listTasksRoute(deps) },
  { ...get, ...ownTask, path: '/api/v1/tasks/:task_id', query: ['wait'], handler: showTask(deps) },
  { ...get, ...ownTask, path: '/api/v1/tasks/:task_id/events', handler: streamTaskEvents(deps) },
  { ...get, ...media, method: 'DELETE', path: '/api/v1/tasks/:task_id', handler: deleteTaskRoute(deps) },
  {
    ...get,
    ...ownTask,
    path: '/api/v1/tasks/:task_id/deliveries',
    isList: true,
    query: pageQuery,
    handler: listDeliveriesRoute(deps),
  },
  { ...get, ...ownTask, path: '/api/v1/tasks/:task_id/attempts', isList: true, handler: listAttemptsRoute(deps) },
  { ...post, ...media, path: '/api/v1/tasks/:task_id/cancel', handler: cancelTaskRoute(deps) },
  { ...post, ...media, path: '/api/v1/tasks/:task_id/callback/redeliver', handler: redeliverRoute(deps) },
  { ...get, ...read, path: '/api/v1/webhooks/events', query: ['wait'], handler: streamWebhookEvents(deps) },
  {
    method: 'GET',
    path: '/files/:id',
    auth: 'signed',
    dialect: 'openai',
    body: 'none',
    query: ['expires', 'signature'],
    // Mail and chat programs add parameters of their own. The signature does not cover them.
    anyQuery: true,
    handler: showFile(deps, downloads),
  },
];

/** Under `/v1` a model is shown by every name that a request may have. */
const byAnyName = { allAliases: true };

/** The words of other vendors' SDKs. Those of Google are in `geminiRoutes`. */
const v1Routes = (deps: RouteDeps, answerPictures: AnswerPictures, downloads: Downloads): Route[] => [
  {
    ...get,
    ...anyScope,
    path: '/v1/models',
    isList: true,
    ...byVendor,
    query: vendorQuery,
    handler: listModels(deps, formOfVendor),
  },
  { ...get, ...anyScope, path: '/v1/models/:model', ...byVendor, handler: showModel(deps, formOfVendor, byAnyName) },
  { ...postParts, ...chat, path: '/v1/chat/completions', rate: 'in_handler', handler: v1ChatCompletions(deps) },
  { ...postParts, ...chat, path: '/v1/responses', rate: 'in_handler', handler: responses(deps) },
  { ...anthropic, path: '/v1/messages', rate: 'in_handler', handler: messages(deps) },
  { ...anthropic, path: '/v1/messages/count_tokens', handler: countMessageTokens(deps) },
  { ...postParts, ...chat, path: '/v1/responses/input_tokens', handler: countResponseTokens(deps) },
  { ...postParts, ...media, path: '/v1/images/generations', isCreate: true, handler: generateImages(answerPictures) },
  {
    ...postParts,
    ...media,
    path: '/v1/images/edits',
    body: 'json_or_form',
    isCreate: true,
    handler: editImages(answerPictures),
  },
  {
    ...postParts,
    ...media,
    path: '/v1/videos',
    body: 'json_or_form',
    isCreate: true,
    handler: createVideoObject(deps),
  },
  { ...get, ...read, path: '/v1/videos', isList: true, query: videoListQuery, handler: listVideosRoute(deps) },
  { ...get, ...ownTask, path: '/v1/videos/:video_id', handler: showVideo(deps) },
  { ...get, ...media, method: 'DELETE', path: '/v1/videos/:video_id', handler: deleteVideo(deps) },
  {
    ...get,
    ...ownTask,
    path: '/v1/videos/:video_id/content',
    query: ['variant'],
    handler: showVideoContent(deps, downloads),
  },
];

const byVendor = { dialectBy: vendorOf } as const;
const formOfVendor = ({ req }: AppContext): ModelForm => vendorForms[vendorOf(req)];
const vendorForms = { openai: openaiModels, anthropic: anthropicModels, gemini: geminiModels };
const vendorQuery = [...new Set(Object.values(vendorForms).flatMap(({ query }) => query))];

/**
 * What Google's clients send (https://cloud.google.com/apis/docs/system-parameters): the format of the answer, and whether it is
 * indented, which is taken and has no effect.
 */
const geminiQuery = ['alt', '$alt', 'prettyPrint', '$prettyPrint'];

/** The actions of one model. The colon before the action is part of the path segment. */
function geminiRoutes(deps: RouteDeps, answerPictures: AnswerPictures): Route[] {
  const [core, v1] = [geminiGeneration(deps, answerPictures), v1GeminiGeneration(deps, answerPictures)];
  const post = {
    ...postJson,
    // The handler demands the scope of the model's type.
    scopes: ['chat', 'media'],
    dialect: 'gemini',
    rate: 'in_handler',
    query: geminiQuery,
  } as const;
  const count = {
    ...postParts,
    ...chat,
    dialect: 'gemini' as const,
    query: geminiQuery,
    handler: countGeminiTokens(deps),
  };
  const models = { ...get, ...anyScope, dialect: 'gemini' } as const;
  const list = listModels(deps, () => geminiModels);
  const one = (actions: RegExp, names?: typeof byAnyName) =>
    notAnAction(
      showModel(deps, () => geminiModels, names),
      actions,
    );
  const predict = (keyScope: string, readingFor = readingOf) => ({
    ...postJson,
    ...media,
    dialect: 'gemini' as const,
    query: geminiQuery,
    isCreate: true as const,
    handler: predictPictures(answerPictures, keyScope, readingFor),
  });
  const parts = { body: postParts.body, skipsQuery: true } as const;
  const corePredict = predict('/api/v1beta/models/{model}:predict', () => strictly);
  const v1Predict = { ...predict('/v1/models/{model}:predict'), ...parts };
  return [
    { ...models, path: '/api/v1beta/models', isList: true, query: geminiModels.query, handler: list },
    { ...models, path: '/api/v1beta/models/:model', handler: one(coreActions) },
    { ...post, path: '/api/v1beta/models/:model\\:generateContent', handler: core.generate },
    { ...post, path: '/api/v1beta/models/:model\\:streamGenerateContent', handler: core.stream },
    { ...corePredict, path: '/api/v1beta/models/:model\\:predict' },
    { ...post, path: '/api/v1/models/:model\\:generateContent', handler: core.generate },
    { ...post, path: '/api/v1/models/:model\\:streamGenerateContent', handler: core.stream },
    { ...corePredict, path: '/api/v1/models/:model\\:predict' },
    { ...models, path: '/v1beta/models', isList: true, query: geminiModels.query, handler: list },
    { ...models, path: '/v1beta/models/:model', handler: one(v1Actions, byAnyName) },
    { ...post, ...parts, path: '/v1beta/models/:model\\:generateContent', handler: v1.generate },
    { ...post, ...parts, path: '/v1beta/models/:model\\:streamGenerateContent', handler: v1.stream },
    { ...v1Predict, path: '/v1beta/models/:model\\:predict' },
    { ...count, path: '/v1beta/models/:model\\:countTokens' },
    { ...post, ...parts, path: '/v1/models/:model\\:generateContent', handler: v1.generate },
    { ...post, ...parts, path: '/v1/models/:model\\:streamGenerateContent', handler: v1.stream },
    { ...v1Predict, path: '/v1/models/:model\\:predict' },
    { ...count, path: '/v1/models/:model\\:countTokens' },
    // @google/genai asks for pictures in its mode for Vertex AI only.
    { ...v1Predict, path: '/v1beta1/publishers/google/models/:model\\:predict' },
  ];
}

/** The address of an action looks like that of a model, and takes POST only. */
const notAnAction =
  (show: AppMiddleware, actions: RegExp): AppMiddleware =>
  async (ctx, next) => {
    if (!actions.test(ctx.params['model'] ?? '')) return show(ctx, next);
    ctx.set('allow', 'POST');
    throw new GatewayError('method_not_allowed');
  };
const coreActions = /:(generateContent|streamGenerateContent|predict)$/;
const v1Actions = /:(generateContent|streamGenerateContent|predict|countTokens)$/;
