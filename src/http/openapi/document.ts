import { errorTable, type ErrorCode } from '../../domain/errors.ts';
import type { JsonObject } from '../../domain/json.ts';
import { statusOf } from '../error-status.ts';
import { isClientRoute, type Route } from '../route.ts';
import { vendors } from '../vendor.ts';
import { version } from '../version.ts';
import { errorBodies, withCodes } from './answers/errors.ts';
import { answerSchema, bodySchema, type NamedSchemas } from './json-schema.ts';
import { operations } from './operations.ts';
import { tags, type Answer, type Catalog, type Operation, type Parameter } from './operation.ts';
import { errorsOfRoute } from './route-errors.ts';

/** What the document needs to know of a route. */
export type DescribedRoute = Pick<Route, 'method' | 'path' | 'auth' | 'scopes' | 'dialect' | 'dialectBy' | 'body'>;

/** `/api/v1/tasks/{task_id}` for `/api/v1/tasks/:task_id`. */
export const templateOf = (path: string): string =>
  path
    .replaceAll('\\:', '\0')
    .replace(/:(\w+)/g, '{$1}')
    .replaceAll('\0', ':');

export const operationName = ({ method, path }: Pick<Route, 'method' | 'path'>): string =>
  `${method} ${templateOf(path)}`;

/**
 * The OpenAPI 3.1 document of the client routes, with the parameters and examples of the models in `catalog`. A route
 * without a description is left out; a test finds it.
 */
export function openapiDocument(routes: readonly DescribedRoute[], catalog: Catalog): JsonObject {
  const named: NamedSchemas = new Map();
  const byName = new Map(routes.filter(isClientRoute).map((route) => [operationName(route), route]));
  const paths: Record<string, JsonObject> = {};
  for (const [name, operation] of Object.entries(operations)) {
    const route = byName.get(name);
    if (!route) continue;
    const path = (paths[templateOf(route.path)] ??= {});
    path[route.method.toLowerCase()] = describe(route, operation, catalog, named);
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Tollgate', version, description: introduction },
    // Where the document was read: the same gateway may have several names.
    servers: [{ url: '/' }],
    tags: Object.entries(tags).map(([tag, description]) => ({ name: tag, description })),
    security: [{ bearer: [] }, { apiKey: [] }],
    paths,
    components: {
      securitySchemes,
      schemas: Object.fromEntries([...named].sort(([left], [right]) => (left < right ? -1 : 1))),
    },
  };
}

const introduction = [
  'Chat, pictures and videos of several providers, billed in credits.',
  'Send your key as `Authorization: Bearer sk-…`. Chats answer at once. A picture or a video is a task: create it, then poll it or receive a callback.',
  'Every error has a `code`; [the list of codes](/docs/errors) says what each means and what to do.',
].join('\n\n');

const securitySchemes = {
  bearer: { type: 'http', scheme: 'bearer', description: 'An API key, `sk-…`.' },
  apiKey: { type: 'apiKey', in: 'header', name: 'x-api-key', description: 'The same key in another header.' },
  googleKey: { type: 'apiKey', in: 'header', name: 'x-goog-api-key', description: 'The same key, on Gemini routes.' },
};

function describe(route: DescribedRoute, operation: Operation, catalog: Catalog, named: NamedSchemas): JsonObject {
  const { summary, tag, parameters = [], body, answers, errors = [] } = operation;
  return {
    operationId: operationId(operationName(route)),
    summary,
    description: [operation.description, scopesText(route)].filter(Boolean).join('\n\n'),
    tags: [tag],
    ...(parameters.length > 0 && {
      parameters: parameters.map((parameter) => describeParameter(parameter, catalog, named)),
    }),
    ...(body && { requestBody: { required: true, content: body(catalog, named) } }),
    responses: {
      ...Object.fromEntries(
        Object.entries(answers).map(([status, answer]) => [status, describeAnswer(answer, named)] as const),
      ),
      ...describeErrors(route, [...errorsOfRoute(route), ...errors], named),
    },
    ...(route.auth !== 'api_key' && { security: [] }),
    ...(route.dialect === 'gemini' && { security: [{ bearer: [] }, { apiKey: [] }, { googleKey: [] }] }),
  };
}

const scopesText = ({ scopes }: DescribedRoute): string =>
  scopes === undefined
    ? 'Needs no key.'
    : `Needs a key with the scope ${scopes.map((scope) => `\`${scope}\``).join(' or ')}.`;

/** `get_api_v1_tasks_task_id_attempts`. */
const operationId = (name: string): string =>
  name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
    .replace(/_$/, '');

function describeParameter(parameter: Parameter, catalog: Catalog, named: NamedSchemas): JsonObject {
  const example = parameter.example?.(catalog);
  return {
    name: parameter.name,
    in: parameter.in,
    description: parameter.description,
    required: parameter.required ?? parameter.in === 'path',
    ...(parameter.style && { style: parameter.style, explode: true }),
    schema: bodySchema(parameter.schema, named),
    ...(example !== undefined && { example }),
  };
}

const describeAnswer = ({ description, content, headers, sometimes }: Answer, named: NamedSchemas): JsonObject => ({
  description,
  ...((headers ?? sometimes) && {
    headers: { ...describeHeaders(headers, { required: true }), ...describeHeaders(sometimes) },
  }),
  ...(content && {
    content: Object.fromEntries(
      Object.entries(content).map(([type, schema]) => [type, { schema: answerSchema(schema, named) }] as const),
    ),
  }),
});

const describeHeaders = (headers: Answer['headers'] = {}, about: JsonObject = {}): JsonObject =>
  Object.fromEntries(
    Object.entries(headers).map(([name, description]) => [name, { description, ...about, schema: { type: 'string' } }]),
  );

/** The refusals by status, with the codes of each. */
function describeErrors(route: DescribedRoute, codes: readonly ErrorCode[], named: NamedSchemas): JsonObject {
  const byStatus = new Map<number, Set<ErrorCode>>();
  for (const code of codes) {
    const known = byStatus.get(statusOf[code]) ?? new Set();
    byStatus.set(statusOf[code], known.add(code));
  }
  return Object.fromEntries(
    [...byStatus]
      .sort(([left], [right]) => left - right)
      .map(([status, known]) => {
        const sorted = [...known].sort();
        return [
          status,
          {
            description: sorted.map((code) => `\`${code}\`: ${errorTable[code].message}`).join('\n\n'),
            content: { 'application/json': { schema: errorSchema(route, sorted, named) } },
          },
        ] as const;
      }),
  );
}

function errorSchema(
  { dialect, dialectBy }: DescribedRoute,
  codes: readonly ErrorCode[],
  named: NamedSchemas,
): JsonObject {
  const schemas = (dialectBy ? vendors : [dialect]).map((name) => ({
    allOf: [answerSchema(errorBodies[name], named), withCodes(name, codes)],
  }));
  return schemas.length > 1 ? { anyOf: schemas } : { ...schemas[0] };
}
