import type { AppMiddleware } from './context.ts';
import type { DialectName } from './dialects/dialect.ts';

/** One row of the route table. */
export interface Route {
  /** GET answers HEAD as well. */
  method: 'GET' | 'POST' | 'DELETE';
  /** A path-to-regexp template; it, never the path itself, is what the log shows. */
  path: string;
  /** `signed`: the handler checks a signature in the query; `none`: open to everybody. */
  auth: 'api_key' | 'job_token' | 'none' | 'signed';
  /** The dialect of this route's errors. */
  dialect: DialectName;
  /** `json`: the frame reads it, up to `BODY_MAX_BYTES`; `none`: a body is not read by the frame. */
  body: 'none' | 'json';
  /** The handler counts the request against its key's rate, in the call that admits it; the frame, what is refused before that. */
  rate?: 'in_handler';
  handler: AppMiddleware;
}
