import type { z } from 'zod';
import { errorTable, type ErrorCode } from '../../domain/errors.ts';
import type { JsonObject } from '../../domain/json.ts';
import { statusOf } from '../response/error-status.ts';
import type { Route } from '../route.ts';
import { vendors } from '../vendor.ts';
import { withCodes } from './schemas/errors.ts';
import { answerSchema, bodySchema, type NamedSchemas } from './json-schema.ts';
import type { Answer, Catalog, DescribedRoute, Operation, Parameter, TaskLimits } from './operation.ts';
import { errorsOfRoute } from './route-errors.ts';

/** `/api/v1/tasks/{task_id}` for `/api/v1/tasks/:task_id`. */
export const templateOf = (path: string): string =>
  path
    .replaceAll('\\:', '\0')
    .replace(/:(\w+)/g, '{$1}')
    .replaceAll('\0', ':');

export const operationName = ({ method, path }: Pick<Route, 'method' | 'path'>): string =>
  `${method} ${templateOf(path)}`;

/** What the documents of the APIs do not share. */
export interface Surroundings {
  /** By `operationName`, in the order of the document. */
  operations: Readonly<Record<string, Operation<string>>>;
  /** The offered models. */
  catalog: Catalog;
  limits: TaskLimits;
  /** Who may call a route, as a sentence. */
  accessText: (route: DescribedRoute) => string;
  /** The `security` of a route; undefined if it is that of the document. */
  security: (route: DescribedRoute) => JsonObject[] | undefined;
  /** The body of an error, by dialect. */
  errors: Readonly<Record<DescribedRoute['dialect'], z.ZodType>>;
}

/**
 * The `paths` of a document, and its `components.schemas` and `components.responses`: routes share most of their refusals. A route without a
 * description is left out; a test finds it.
 */
export function describeRoutes(
  routes: readonly DescribedRoute[],
  surroundings: Surroundings,
): { paths: JsonObject; schemas: JsonObject; responses: JsonObject } {
  const named: NamedSchemas = new Map();
  const refusals = new SharedRefusals();
  const byName = new Map(routes.map((route) => [operationName(route), route]));
  const paths: Record<string, JsonObject> = {};
  for (const [name, operation] of Object.entries(surroundings.operations)) {
    const route = byName.get(name);
    if (!route) continue;
    const path = (paths[templateOf(route.path)] ??= {});
    path[route.method.toLowerCase()] = describe(route, operation, surroundings, { named, refusals });
  }
  const schemas = Object.fromEntries([...named].sort(([left], [right]) => (left < right ? -1 : 1)));
  return { paths, schemas, responses: refusals.byName };
}

function describe(
  route: DescribedRoute,
  operation: Operation<string>,
  surroundings: Surroundings,
  { named, refusals }: { named: NamedSchemas; refusals: SharedRefusals },
): JsonObject {
  const { summary, tag, parameters = [], body, answers } = operation;
  const { catalog, limits } = surroundings;
  const security = surroundings.security(route);
  return {
    operationId: operation.id ?? operationId(operationName(route)),
    summary,
    description: [operation.description, surroundings.accessText(route)].filter(Boolean).join('\n\n'),
    tags: [tag],
    ...(parameters.length > 0 && {
      parameters: parameters.map((parameter) => describeParameter(parameter, catalog, named)),
    }),
    ...(body && { requestBody: { required: operation.bodyRequired ?? true, content: body(catalog, named, limits) } }),
    responses: {
      ...Object.fromEntries(
        Object.entries(answers).map(([status, answer]) => [status, describeAnswer(answer, named)] as const),
      ),
      ...describeErrors(route, operation, surroundings, { named, refusals }),
    },
    ...(security && { security }),
  };
}

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

/** Refusals that are written once in a document. */
class SharedRefusals {
  readonly byName: Record<string, JsonObject> = {};
  readonly #names = new Map<string, string>();

  /** A reference to the refusal, under a name that begins with `kind`, such as `openai_400`. */
  refer(kind: string, refusal: JsonObject): JsonObject {
    const text = JSON.stringify(refusal);
    const name = this.#names.get(text) ?? this.#freeName(kind);
    this.#names.set(text, name);
    this.byName[name] = refusal;
    return { $ref: `#/components/responses/${name}` };
  }

  #freeName(kind: string): string {
    let name = kind;
    for (let n = 2; Object.hasOwn(this.byName, name); n += 1) name = `${kind}_${n}`;
    return name;
  }
}

/** The refusals by status, with the codes of each. */
function describeErrors(
  route: DescribedRoute,
  { errors: own = [], refusesWithPages }: Operation<string>,
  { errors }: Surroundings,
  { named, refusals }: { named: NamedSchemas; refusals: SharedRefusals },
): JsonObject {
  const byStatus = new Map<number, Set<ErrorCode>>();
  for (const code of [...errorsOfRoute(route), ...own]) {
    const codes = byStatus.get(statusOf[code]) ?? new Set();
    byStatus.set(statusOf[code], codes.add(code));
  }
  return Object.fromEntries(
    [...byStatus]
      .sort(([left], [right]) => left - right)
      .map(([status, codes]) => {
        const sorted = [...codes].sort();
        const refusal = {
          description: sorted.map((code) => `\`${code}\`: ${errorTable[code].message}`).join('\n\n'),
          content: {
            'application/json': { schema: errorSchema(route, sorted, errors, named) },
            ...(refusesWithPages && { 'text/html': { schema: { type: 'string' } } }),
          },
        };
        return [status, refusals.refer(`${route.dialectBy ? 'vendor' : route.dialect}_${status}`, refusal)] as const;
      }),
  );
}

function errorSchema(
  { dialect, dialectBy }: DescribedRoute,
  codes: readonly ErrorCode[],
  errors: Surroundings['errors'],
  named: NamedSchemas,
): JsonObject {
  const schemas = (dialectBy ? vendors : [dialect]).map((name) => ({
    allOf: [answerSchema(errors[name], named), withCodes(name, codes)],
  }));
  return schemas.length > 1 ? { anyOf: schemas } : { ...schemas[0] };
}
