import type { IncomingMessage } from 'node:http';
import type { Role } from '../domain/operators/role.ts';
import type { Scope } from '../domain/projects/scope.ts';
import type { DialectName } from './dialects/dialect-name.ts';
import type { QueryShape } from './request/query.ts';

/** What a row of the route table says of its route. A route behind an API key names its scopes. */
export type RouteFacts = CommonRoute & (KeyRoute | AdminRoute | OtherRoute);

interface KeyRoute {
  auth: 'api_key';
  /** Each of them opens the route to a key that has it. */
  scopes: readonly [Scope, ...Scope[]];
}

interface AdminRoute {
  /** An admin token or a session of the console. */
  auth: 'admin';
  /** The least role that may call the route. */
  role: Role;
  scopes?: never;
}

interface OtherRoute {
  /**
   * `metrics_token`: public unless METRICS_TOKEN is set. `signed`: the handler checks a signature in the query. `sign_in`: the handler
   * checks a credential that becomes a session. `none`: public.
   */
  auth: 'job_token' | 'metrics_token' | 'none' | 'sign_in' | 'signed';
  scopes?: never;
}

interface CommonRoute {
  /** GET answers HEAD as well. */
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** A path-to-regexp template. The log shows the template, never the path itself. */
  path: string;
  /** The dialect of this route's errors. */
  dialect: DialectName;
  /** The same by the request, where SDKs of several vendors share the address. */
  dialectBy?: (request: Pick<IncomingMessage, 'headers'>) => DialectName;
  /**
   * `json`: an object of up to 4 MB; `json_if_any`: the same, or no body for an empty object; `json_with_parts`: an object of up to 32 MB, of
   * other vendors' clients, whose messages may carry pictures; `json_or_form`: the same, or a form of up to 10 MB; `picture`: an upload of up
   * to 10 MB; `none`: a body is not read.
   */
  body: 'none' | 'json' | 'json_if_any' | 'json_with_parts' | 'json_or_form' | 'picture';
  /** The query parameters that the handler reads, none by default. Any other one is refused. */
  query?: QueryShape;
  /** Parameters that the handler does not read are left out, unless the client asks for a strict reading: clients of other vendors send `api-version`. */
  skipsQuery?: true;
  /** No parameter is refused: the script of the page reads the query, or other programs write into it. */
  anyQuery?: true;
  /** Members of an operator's body whose texts may have line ends and tabs (`demandPlainTexts`). */
  linesIn?: readonly string[];
  /** Lists of one project take turns (`takeListTurn`), because a page costs the event loop more than other answers. */
  isList?: true;
  /** The handler counts the request against its key's rate as part of the admission. A request refused earlier is counted by middleware. */
  rate?: 'in_handler';
  /** The route creates a task, so an error on our side says whether the request was accepted (`createFailed`). */
  isCreate?: true;
}
