import type Koa from 'koa';
import type { JsonObject } from '../domain/json.ts';
import type { AuthenticatedKey } from './http-deps.ts';
import type { Route } from './route.ts';

declare module 'koa' {
  interface Request {
    /** The parsed body on routes that read one; see `read-body.ts` for what it is guaranteed to be. */
    body?: JsonObject;
  }
}

/** What the frame knows of a request, for handlers and for the log. */
export interface AppState {
  /** Our own id, answered as `x-request-id`. */
  requestId: string;
  /** The caller's own id for this request, if it sent a short printable one. Logged, never answered. */
  clientRequestId?: string;
  /** The matched row of the route table. */
  route?: Route;
  /** There on every route with `auth: 'api_key'`; read it with `keyOf`. */
  key?: AuthenticatedKey;
  /** The request was counted against its key's rate, or was about to be and could not. */
  rateCounted?: boolean;
  /** The catalog's model this request is for, once it was found there; never the client's own words. */
  modelId?: string;
  /** What an accepted task will cost if it succeeds. */
  creditsQuoted?: number;
  /** The client went away before its request had fully arrived. */
  clientGone?: boolean;
}

interface AppExtra {
  /** The decoded named segments of the route's path. */
  params: Record<string, string>;
}

export type AppContext = Koa.ParameterizedContext<AppState, AppExtra>;
export type AppMiddleware = (ctx: AppContext, next: Koa.Next) => Promise<void>;

/** The key of a request on an `api_key` route. Throws on any other route: that is a mistake in the route table. */
export function keyOf(ctx: AppContext): AuthenticatedKey {
  if (!ctx.state.key) throw new Error(`${ctx.state.route?.path ?? 'This address'} is not behind an API key`);
  return ctx.state.key;
}
