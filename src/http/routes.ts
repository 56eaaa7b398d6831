import type { HttpDeps } from './http-deps.ts';
import type { Route } from './route.ts';
import { accountRoutes } from './routes/account.ts';
import { chatRoutes } from './routes/chat.ts';
import { documentationRoutes } from './routes/documentation.ts';
import { createDownloads, fileRoute } from './routes/files.ts';
import { geminiCountRoute, geminiRoutes, type GeminiMount } from './routes/gemini.ts';
import { predictRoute } from './routes/gemini-predict.ts';
import { legacyRoutes } from './routes/legacy.ts';
import { mcpRoute } from './routes/mcp.ts';
import { mediaRoutes } from './routes/media.ts';
import { messageRoutes } from './routes/messages.ts';
import { geminiModelRoutes, modelRoutes, vendorModelRoutes } from './routes/models.ts';
import { openaiImageRoutes } from './routes/openai-images.ts';
import { openaiVideoRoutes } from './routes/openai-videos.ts';
import { createPictureAnswers, type AnswerPictures } from './routes/picture-answers.ts';
import { responseRoutes } from './routes/responses.ts';
import { scheduledJobRoutes } from './routes/scheduled-jobs.ts';
import { taskRoutes } from './routes/tasks.ts';
import { uploadRoute } from './routes/uploads.ts';
import { webhookEventsRoute } from './routes/webhook-events.ts';

/** The dependencies of all handlers. Each handler takes its own part. */
export type RouteDeps = HttpDeps &
  Parameters<typeof modelRoutes>[0] &
  Parameters<typeof chatRoutes>[0] &
  Parameters<typeof mediaRoutes>[0] &
  Parameters<typeof uploadRoute>[0] &
  Parameters<typeof taskRoutes>[0] &
  Parameters<typeof webhookEventsRoute>[0] &
  Parameters<typeof accountRoutes>[0] &
  Parameters<typeof createPictureAnswers>[0] &
  Parameters<typeof openaiVideoRoutes>[0] &
  Parameters<typeof legacyRoutes>[0] &
  Parameters<typeof mcpRoute>[0] &
  Parameters<typeof scheduledJobRoutes>[0] &
  Parameters<typeof documentationRoutes>[0];

/** Every route of the service: what it demands of a request, what it says to clients, and its handler. The documents have this order. */
export function createRoutes(deps: RouteDeps): readonly Route[] {
  const answerPictures = createPictureAnswers(deps);
  const downloads = createDownloads();
  const routes = [
    ...modelRoutes(deps),
    ...chatRoutes(deps),
    ...responseRoutes(deps),
    ...messageRoutes(deps),
    ...mediaRoutes(deps),
    uploadRoute(deps),
    ...taskRoutes(deps),
    webhookEventsRoute(deps),
    fileRoute(deps, downloads),
    ...accountRoutes(deps),
    ...googleRoutes(deps, answerPictures),
    ...vendorModelRoutes(deps),
    ...openaiImageRoutes(answerPictures),
    ...openaiVideoRoutes(deps, downloads),
    mcpRoute(deps),
    ...legacyRoutes(deps),
  ];
  return [...routes, ...documentationRoutes(deps, routes), ...scheduledJobRoutes(deps)];
}

/** The actions of one model under each prefix. The colon before the action is part of the path segment. */
function googleRoutes(deps: RouteDeps, answerPictures: AnswerPictures): Route[] {
  const actions = (mount: GeminiMount): Route[] => [
    ...geminiRoutes(deps, { ...mount, answerPictures }),
    predictRoute(answerPictures, mount),
    ...(mount.isV1 ? [geminiCountRoute(deps, mount.prefix)] : []),
  ];
  return [
    ...geminiModelRoutes(deps, { prefix: '/api/v1beta', allAliases: false, actions: specActions }),
    ...actions({ prefix: '/api/v1beta', isV1: false }),
    ...actions({ prefix: '/api/v1', isV1: false }),
    ...geminiModelRoutes(deps, { prefix: '/v1beta', allAliases: true, actions: [...specActions, 'countTokens'] }),
    ...actions({ prefix: '/v1beta', isV1: true }),
    ...actions({ prefix: '/v1', isV1: true }),
    // @google/genai asks for pictures in its mode for Vertex AI only.
    predictRoute(answerPictures, { prefix: '/v1beta1/publishers/google', isV1: true }),
  ];
}

const specActions = ['generateContent', 'streamGenerateContent', 'predict'];
