import type Koa from 'koa';
import type { AdminAccess } from '../domain/operators/admin-access.ts';
import type { ErrorCode } from '../domain/errors.ts';
import type { JsonObject } from '../domain/json.ts';
import type { AuthenticatedKey } from '../domain/projects/authenticated-key.ts';
import type { Share } from '../platform/fair-budget.ts';
import type { NoteModel } from '../services/catalog/find-model.ts';
import type { RouteFacts } from './route-facts.ts';

declare module 'koa' {
  interface Request {
    /** The parsed body, on routes that read one. `read-body.ts` documents its guarantees. */
    body?: JsonObject;
    /** The picture of an upload, on routes that read one. Its bytes are not checked. */
    picture?: Buffer;
  }
}

/** What the application knows of a request, for handlers and for the log. */
export interface AppState {
  /** Our own id of the request, sent as `x-request-id`. */
  requestId: string;
  /** Set where traces are on. */
  traceId?: string;
  /** The client's own id of this request, if it sent a short printable one. Logged, never sent back. */
  clientRequestId?: string;
  /** The matched row of the route table. */
  route?: RouteFacts;
  /** Set on every route with `auth: 'api_key'`. Read it with `keyOf`. */
  key?: AuthenticatedKey;
  /** Set on every route with `auth: 'admin'`. Read it with `adminOf`. */
  admin?: AdminAccess;
  /** Whether the request was counted against its key's rate, or the count failed. */
  rateCounted?: boolean;
  /** The id of the requested model as the catalog has it, never as the client sent it. */
  modelId?: string;
  /** The model that a client of Azure names in the path of its request. */
  deployment?: string;
  /** The task that the request has created or found. From then on no error says that it was not accepted. */
  acceptedTaskId?: string;
  /** The credits that an accepted task costs if it succeeds. */
  creditsQuoted?: number;
  /** What the request holds of the limits on requests at the same time. */
  slots?: Share[];
  /** The upstream calls of a streamed chat, which has no header for them. */
  attempts?: number;
  /** Of the error that the request is answered with. */
  errorCode?: ErrorCode;
  /** Whether the client disconnected before its request had fully arrived. */
  clientGone?: boolean;
}

export interface AppExtra {
  /** The decoded named segments of the route's path. */
  params: Record<string, string>;
}

export type AppContext = Koa.ParameterizedContext<AppState, AppExtra>;
export type AppMiddleware = (ctx: AppContext, next: () => Promise<void>) => Promise<void>;

/** The key of a request on an `api_key` route. Throws on any other route, because the route table is wrong then. */
export function keyOf(ctx: AppContext): AuthenticatedKey {
  if (!ctx.state.key) throw new Error(`${ctx.state.route?.path ?? 'This address'} is not behind an API key`);
  return ctx.state.key;
}

/** The body of a request, with the model of its path if it names none itself. */
export const withDeployment = ({ state: { deployment } }: AppContext, body: JsonObject): JsonObject =>
  deployment === undefined ? body : { ...body, model: body['model'] ?? deployment };

/** Notes the model of a request for its detail row and its trace. */
export const noteModelIn =
  ({ state }: AppContext): NoteModel =>
  (modelId) => {
    state.modelId = modelId;
  };

/** The task that a request names in its path, of the project of its key. */
export const requestedTask = (ctx: AppContext): { projectId: string; taskId: string } => ({
  projectId: keyOf(ctx).projectId,
  taskId: ctx.params['task_id'] ?? '',
});

/** Who sends a request on an `admin` route. Throws on any other route, because the route table is wrong then. */
export function adminOf(ctx: AppContext): AdminAccess {
  if (!ctx.state.admin) throw new Error(`${ctx.state.route?.path ?? 'This address'} is not behind an admin token`);
  return ctx.state.admin;
}

/** The owner of what a request holds of a fair budget: its project. Requests without a key share one owner for each kind of route. */
export const ownerOf = ({ state }: Pick<AppContext, 'state'>): string =>
  state.key?.projectId ?? state.route?.auth ?? 'unmatched';
