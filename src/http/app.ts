import { unescape } from 'node:querystring';
import Koa from 'koa';
import type { Config } from '../config/load-config.ts';
import { GatewayError, quoted } from '../domain/errors.ts';
import { adminPrefix } from './admin/admin-prefix.ts';
import type { AppContext, AppMiddleware, AppState } from './context.ts';
import { headerValues, isOfAzure } from './request/credentials.ts';
import { createBodyTurns } from './server/body-turns.ts';
import { createClientAddress } from './server/client-address.ts';
import { createFairBudget, type FairBudget } from '../platform/fair-budget.ts';
import { describeError } from '../platform/observe/describe-error.ts';
import { createFailureThrottle } from './rate-limits/failure-throttle.ts';
import type { HttpDeps } from './http-deps.ts';
import { readingOf } from './request/ignored-fields.ts';
import { dialectOf } from './dialects/dialect.ts';
import { answerErrors } from './middleware/answer-errors.ts';
import { allowOrigins, openToEveryOrigin, type Crossing } from './middleware/cross-origin.ts';
import { demandApiKey, demandToken, throttleRefusals } from './middleware/authenticate.ts';
import { demandPlainTexts } from './middleware/demand-plain-texts.ts';
import { demandIpRange, demandRouteScope } from './middleware/key-permissions.ts';
import { health } from './middleware/health.ts';
import { limitRate } from './rate-limits/limit-rate.ts';
import { createAnswerMemory, holdAnswers } from './middleware/hold-answers.ts';
import { holdSlot } from './middleware/hold-slot.ts';
import { demandAdmin } from './middleware/demand-admin.ts';
import { readJson, readJsonIfAny } from './middleware/read-json.ts';
import { readJsonOrForm } from './middleware/read-json-or-form.ts';
import { readPicture } from './middleware/read-picture.ts';
import { requestContext } from './middleware/request-context.ts';
import { takeListTurn } from './middleware/take-list-turn.ts';
import { traceRequests } from './middleware/trace-requests.ts';
import { demandSupportedQuery, parameterNamesIn } from './request/query.ts';
import { UPLOAD_TIMEOUT_SECONDS } from './request/read-upload.ts';
import { isClientRoute, type Route } from './route.ts';
import { createRouteTable, type RouteTable } from './route-table.ts';

/** JSON on the routes of the specification and for operators. */
const plainJson = { maxBytes: 4_000_000, depthMax: 32, mayBeCompressed: false } as const;
/** JSON as clients of other vendors send it: with the limits of Anthropic's API, and compressed by some. */
const jsonWithParts = { maxBytes: 32_000_000, depthMax: 64, mayBeCompressed: true } as const;
/** The largest picture as it is sent, and the largest form with pictures. */
const UPLOAD_MAX_BYTES = 10_000_000;
/** Uploads that one process holds in memory while they arrive and are decoded: twelve of the largest. */
const UPLOADS_BUFFERED_MAX_BYTES = 128_000_000;

interface AppOptions {
  probes?: boolean;
  later?: LaterRoutes | undefined;
  /** Shared with the other listeners of the process. */
  answerMemory?: FairBudget;
}

/**
 * The Koa application for a table of routes. A request passes, in this order: request id and log line, error answers, health
 * probes, and then per route the check of the transfer coding, authentication, the body, the in-flight limit and the handler. Emit
 * `stopping` on it once before the server stops: from then on it reports not ready and asks clients to close their connections.
 * Without `probes` it answers no health probes, because another listener does. The routes `later` are loaded by their first request.
 */
export function createApp(
  deps: Omit<HttpDeps, 'signedFiles'>,
  routes: readonly Route[],
  { probes = true, later, answerMemory = createAnswerMemory() }: AppOptions = {},
): Koa<AppState> {
  const { config, logger } = deps;
  const app = new Koa<AppState>();
  const clientAddress = createClientAddress(config.http.trustProxy);
  let stopping = false;
  app.once('stopping', () => (stopping = true));
  app.on('error', (error: unknown, ctx?: AppContext) => {
    logger.debug(
      { request_id: ctx?.state.requestId, error: describeError(error) },
      'the answer was not sent completely',
    );
  });

  const table = guardedTable(deps, routes);
  app.use(requestContext({ ...deps, clientAddress }));
  app.use(answerErrors({ logger }));
  app.use(holdAnswers(answerMemory));
  app.use(letGoWhen(() => stopping));
  app.use(demandTarget);
  app.use(readVendorPath);
  app.use(setAnthropicId);
  app.use(demandHost);
  app.use(allowOrigins(config.http.corsOrigins, crossing(table)));
  if (probes) app.use(health(deps.isReady, () => stopping));
  // After the probes, which need no trace.
  if (deps.tracing) app.use(traceRequests(deps.tracing));
  if (later) app.use(answerLater(deps, later));
  app.use(table.serve);
  app.use(refuseUnmatched(table));
  return app;
}

export interface LaterRoutes {
  /** The beginning of the paths of all these routes. */
  prefix: string;
  load: () => Promise<readonly Route[]>;
}

/** Loads routes with their modules when the first of them is called, because few processes ever serve them. */
function answerLater(deps: Omit<HttpDeps, 'signedFiles'>, { prefix, load }: LaterRoutes): AppMiddleware {
  let loading: Promise<AppMiddleware> | undefined;
  const open = async () => answerOf(guardedTable(deps, await load()));
  return async (ctx, next) => {
    if (!ctx.path.startsWith(prefix)) return next();
    loading ??= open();
    const answer = await loading.catch((error: unknown) => {
      loading = undefined;
      throw error;
    });
    await answer(ctx, next);
  };
}

/** Answers every request, with 404 or 405 where no route of the table matches. */
function answerOf(table: RouteTable): AppMiddleware {
  const refuse = refuseUnmatched(table);
  return (ctx, next) => table.serve(ctx, () => refuse(ctx, next));
}

/** The routes behind what each of them demands of a request: its key, its query, its body and a slot among the requests in flight. */
function guardedTable(deps: Omit<HttpDeps, 'signedFiles'>, routes: readonly Route[]): RouteTable {
  const { config } = deps;
  const failures = createFailureThrottle({ max: config.http.authFailuresPerMinuteMax });
  const apiKey = demandApiKey(deps, failures);
  const scheduledJobToken = demandToken(config.secrets.scheduledJobTokens, 'invalid_job_token', failures);
  const { metricsToken } = config.secrets;
  const { open, inFlight, held } = requestSlots(config.http.inFlightMax);
  deps.metrics?.watchRequests?.(held);
  const guards = {
    api_key: [apiKey, demandIpRange, open, limitRate(deps), demandRouteScope],
    job_token: [scheduledJobToken, open],
    admin: [demandAdmin(deps.adminAccess, failures), open],
    metrics_token:
      metricsToken === '' ? [open] : [demandToken([metricsToken], 'invalid_metrics_token', failures), open],
    sign_in: [throttleRefusals(failures), open],
    none: [open],
    // The handler has a limit of its own, because only the file tells which project it belongs to.
    signed: [openToEveryOrigin],
  } satisfies Record<Route['auth'], AppMiddleware[]>;
  const bodies = bodyReaders(config.http);
  const listTurn = takeListTurn(config.http.listTurnMs);

  return createRouteTable(routes, (route) => [
    (ctx, next) => {
      ctx.state.route = route;
      return next();
    },
    demandSupportedCoding,
    ...(route.beforeAuth ?? []),
    ...guards[route.auth],
    checkQuery(route),
    ...(route.beforeBody ?? []),
    ...bodies[route.body],
    ...(isClientRoute(route) ? [] : [demandPlainTexts(route)]),
    // Before it takes a slot among the requests in flight.
    ...(route.isList ? [listTurn] : []),
    ...(route.auth === 'signed' ? [] : [inFlight]),
    route.handler,
  ]);
}

/**
 * Requests with a valid key that wait for their bodies, beside those in flight. Each is a socket and a timer for at most the time
 * that a body may take.
 */
const BODIES_AWAITED_MAX = 1_500;

/** `open` counts a request from its authentication on, `inFlight` once its body has arrived, so that no slow body holds a slot. */
function requestSlots(inFlightMax: number): { open: AppMiddleware; inFlight: AppMiddleware; held: () => number } {
  const message = 'The server is handling too many requests at the same time. Try again in a few seconds.';
  const limit = (total: number) => createFairBudget({ total, message, retryAfterSeconds: 1 });
  const slots = limit(inFlightMax);
  return {
    open: holdSlot(limit(inFlightMax + BODIES_AWAITED_MAX)),
    inFlight: holdSlot(slots),
    held: () => slots.held(),
  };
}

function bodyReaders({ requestTimeoutSeconds, bodiesBufferedMaxBytes }: Config['http']) {
  // The in-flight limit times the largest body would exceed the memory of a process.
  const bodies = createFairBudget({
    total: bodiesBufferedMaxBytes,
    message: 'The server is receiving too many large request bodies at the same time. Try again in a few seconds.',
  });
  const pictures = createFairBudget({
    total: UPLOADS_BUFFERED_MAX_BYTES,
    message: 'The server is receiving too many uploads at the same time. Try again in a few seconds.',
  });
  const shared = {
    timeoutMs: requestTimeoutSeconds * 1_000,
    stretchBytes: plainJson.maxBytes,
    reservedFromBytes: plainJson.maxBytes,
    memory: bodies,
    turns: createBodyTurns(),
  };
  const json = readJson({ ...plainJson, ...shared });
  const withParts = readJson({ ...jsonWithParts, ...shared });
  const upload = { maxBytes: UPLOAD_MAX_BYTES, timeoutMs: UPLOAD_TIMEOUT_SECONDS * 1_000, memory: pictures };
  return {
    none: [],
    json: [json],
    json_if_any: [readJsonIfAny(json)],
    picture: [readPicture(upload)],
    json_with_parts: [withParts],
    json_or_form: [readJsonOrForm(withParts, upload)],
  } satisfies Record<Route['body'], AppMiddleware[]>;
}

function checkQuery({ query = {}, anyQuery, skipsQuery }: Route): AppMiddleware {
  const supported = parameterNamesIn(query);
  return (ctx, next) => {
    if (!anyQuery)
      demandSupportedQuery(ctx, supported, { skipsUnknown: skipsQuery === true && !readingOf(ctx).isStrict });
    return next();
  };
}

const letGoWhen =
  (isStopping: () => boolean): AppMiddleware =>
  async (ctx, next) => {
    try {
      await next();
    } finally {
      if (isStopping()) ctx.set('connection', 'close');
    }
  };

/**
 * Koa parses the request target whenever `ctx.path` is read and throws if it cannot (`GET http://[x`), even in the code that answers
 * and logs the error. After this check `ctx.path` is safe to read.
 */
const demandTarget: AppMiddleware = (ctx, next) => {
  if (!hasPath(ctx)) {
    ctx.url = '/';
    throw new GatewayError('invalid_value', { message: 'The request target is not a valid address.' });
  }
  return next();
};

function hasPath(ctx: AppContext): boolean {
  try {
    return ctx.path.startsWith('/') || ctx.path === '*';
  } catch {
    return false;
  }
}

/** The paths of other vendors' clients. Groq's SDK puts `openai` before each of its own. */
const vendorPath = /^\/+(?:openai\/+)?(?:v1|v1beta|v1beta1)\//;
/** DeepSeek's clients put their paths right behind the host, as do other clients whose base URL lacks `/v1`. */
const barePath = /^\/+(?=(?:chat\/completions|responses|models|images\/(?:generations|edits))\/*$)/;
/** Azure's clients name the model in the path (https://learn.microsoft.com/azure/ai-foundry/openai/reference, read 2026-11-28). */
const azurePath = /^\/+openai\/+(?:deployments\/+(.+?)\/+(?=(?:chat|images)\/)|(?=(?:responses|models)(?:\/|$)))/;
/** Google's SDKs in their mode for Vertex AI, with a key or with a project (https://docs.cloud.google.com/vertex-ai/docs/reference/rest, read 2026-11-28). */
const vertexPath =
  /^\/+v1(?:beta1)?\/+(?:projects\/+[^/]+\/+locations\/+[^/]+\/+)?publishers\/+google\/+(?=models\/+[^/]+:(?:\w+Content|countTokens|predict)$)/;
/** `:predict` has a route of its own under Vertex AI's shortest path, which the OpenAPI document promises. */
const vertexPredict = '/v1beta1/publishers/google/';

/**
 * Reads the paths of other vendors' clients as those of our routes: without Azure's deployment, which is noted, Groq's `openai`, repeated slashes
 * and one at the end. Many programs join a base URL that ends with a slash and a path that begins with one. On all other paths slashes count.
 */
const readVendorPath: AppMiddleware = (ctx, next) => {
  const deployment = azurePath.exec(ctx.path)?.[1];
  if (deployment !== undefined) ctx.state.deployment = unescape(deployment);
  if (isOfAzure(ctx)) ctx.path = ctx.path.replace(azurePath, '/v1/');
  ctx.path = ctx.path
    .replace(barePath, '/v1/')
    .replace(vertexPath, (_prefix, _offset, path: string) => (path.endsWith(':predict') ? vertexPredict : '/v1beta/'));
  if (vendorPath.test(ctx.path)) ctx.path = ctx.path.replaceAll(/\/+/g, '/').replaceAll(/^\/openai|\/$/g, '');
  return next();
};

/** Anthropic's SDKs read the id of a request from this header, whatever the answer. */
const setAnthropicId: AppMiddleware = (ctx, next) => {
  if (dialectOf(ctx) === 'anthropic') ctx.set('request-id', ctx.state.requestId);
  return next();
};

/** RFC 9112 §3.2. Node itself would answer without our request id and error body. */
const demandHost: AppMiddleware = (ctx, next) => {
  const hosts = headerValues(ctx.req, 'host');
  if (hosts.length > 1) {
    throw new GatewayError('invalid_value', { message: 'The Host header was sent twice.', param: 'Host' });
  }
  if (hosts.length === 0 && ctx.req.httpVersion === '1.1') {
    throw new GatewayError('invalid_value', { message: 'The Host header is missing.', param: 'Host' });
  }
  return next();
};

/**
 * RFC 9112 §6.1. Node removes the chunking and passes on a body that is still in the inner coding. Such a body must not be read as
 * if it were plain. The RFC suggests 501, but the error table has no row with that status, and the client must change the request
 * with either.
 */
const demandSupportedCoding: AppMiddleware = (ctx, next) => {
  const coding = ctx.req.headers['transfer-encoding'];
  if (coding !== undefined && coding.trim().toLowerCase() !== 'chunked') {
    ctx.set('connection', 'close');
    const message = 'The only supported transfer coding is chunked.';
    throw new GatewayError('invalid_value', { message, param: 'Transfer-Encoding' });
  }
  return next();
};

/** Whose pages may call the routes of a path, with any method: no route for operators has the path of one for clients. */
const crossing =
  (table: RouteTable) =>
  ({ path }: AppContext): Crossing => {
    const routes = table.at(path);
    if (routes.some(({ auth }) => auth === 'signed')) return 'every';
    return routes.some(isClientRoute) ? 'listed' : 'none';
  };

/** Routes that clients of other gateways call, and the one that does it here: those of new-api, of Genkit's plugin for Google, and OpenAI's older one. */
const clientsRoutes: readonly [absent: RegExp, instead: string][] = [
  [/^\/v1\/video\/generations\b/, 'POST /v1/videos'],
  [/^\/v1(beta)?\/interactions\b/, 'POST /v1beta/models/MODEL:generateContent'],
  [/^\/v1\/completions$/, 'POST /v1/chat/completions'],
];

/** 405 with `Allow` if only the method is wrong, otherwise 404; in the dialect of the path. */
function refuseUnmatched(table: RouteTable): AppMiddleware {
  return (ctx) => {
    // The address of an action, such as `gemini:countTokens`, looks like that of a model.
    const isAction = /\/models\/[^/]*:/.test(ctx.path);
    const routes = table.at(ctx.path).filter(({ path }) => !isAction || !path.endsWith('/:model'));
    const [route] = routes;
    if (!route) {
      const list = ctx.path.startsWith(adminPrefix) ? `${adminPrefix}/openapi.json` : '/docs';
      const instead = clientsRoutes.find(([absent]) => absent.test(ctx.path))?.[1];
      const advice = instead === undefined ? `GET ${list} shows those that exist.` : `Use ${instead}.`;
      const message = `There is no route ${quoted(ctx.path)}. ${advice}`;
      throw new GatewayError('not_found', { message });
    }
    ctx.state.route = route;
    const methods = new Set(routes.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : method)));
    const allowed = [...methods].sort().join(', ');
    ctx.set('allow', allowed);
    const message = `The method ${quoted(ctx.method)} is not allowed here; allowed are ${allowed}.`;
    throw new GatewayError('method_not_allowed', { message });
  };
}
