import type { Deps } from '../deps.ts';
import type { FairBudget } from '../platform/fair-budget.ts';
import type { ImageDecoder } from '../platform/media/decode-image.ts';
import type { EarlyHangUps } from '../services/chat/state/early-hang-ups.ts';
import type { LostChats } from '../services/chat/state/lost-chats.ts';
import type { LiveChats } from '../services/chat/state/live-chats.ts';
import type { RetryBudget } from '../services/chat/state/retry-budget.ts';
import type { UndeliveredChats } from '../services/chat/state/undelivered-chats.ts';
import type { StorageGuard } from '../services/files/storage-guard.ts';
import type { TaskAdmission } from '../services/tasks/create/task-admission.ts';
import type { HttpDeps } from './http-deps.ts';
import type { TaskWaits } from './response/task-waits.ts';
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
import { formerGatewayRoutes } from './routes/former-gateways.ts';
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
  Pick<
    Deps,
    | 'adapters'
    | 'callbackSlots'
    | 'catalog'
    | 'channels'
    | 'chatLedger'
    | 'db'
    | 'egress'
    | 'files'
    | 'ledger'
    | 'ledgerWatch'
    | 'metrics'
    | 'pdfMeter'
    | 'sealer'
    | 'taskAnswers'
    | 'taskReader'
    | 'taskWatch'
    | 'tokenCounter'
    | 'tracer'
    | 'urls'
    | 'workflows'
  > &
  ApiState;

/** What an API server counts and bounds in memory. */
interface ApiState {
  admission: TaskAdmission;
  storage: StorageGuard;
  taskWaits: TaskWaits;
  retryBudget: RetryBudget;
  undelivered: Pick<UndeliveredChats, 'giveBack'>;
  liveChats: LiveChats;
  earlyHangUps: EarlyHangUps;
  lostChats: LostChats;
  /** Answers that are streamed at the same time. */
  streamSlots: FairBudget;
  decodeImage: ImageDecoder;
}

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
    ...formerGatewayRoutes(deps),
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
