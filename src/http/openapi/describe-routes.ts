import type { z } from 'zod';
import { errorTable, type ErrorCode } from '../../domain/errors.ts';
import type { JsonObject } from '../../domain/json.ts';
import { statusOf } from '../response/error-status.ts';
import type { DescribedAnswer, Catalog, Description, NamedSchemas, TaskDeadlines } from '../description.ts';
import { isDeepObject, isRequired } from '../request/query.ts';
import type { RouteFacts } from '../route-facts.ts';
import { vendors } from '../vendor.ts';
import { withCodes } from './schemas/errors.ts';
import { answerSchema, bodySchema, tolerantBodySchema } from './json-schema.ts';
import { errorsOfRoute } from './route-errors.ts';

/** `/api/v1/tasks/{task_id}` for `/api/v1/tasks/:task_id`. */
export const templateOf = (path: string): string =>
  path
    .replaceAll('\\:', '\0')
    .replace(/:(\w+)/g, '{$1}')
    .replaceAll('\0', ':');

export const operationName = ({ method, path }: Pick<RouteFacts, 'method' | 'path'>): string =>
  `${method} ${templateOf(path)}`;

/** A row of the route table with what it says to clients. */
export type DescribedRoute = RouteFacts & Description;

/** What the documents of the APIs do not share. */
export interface Surroundings {
  /** The offered models. */
  catalog: Catalog;
  limits: TaskDeadlines;
  /** Who may call a route, as a sentence. */
  accessText: (route: DescribedRoute) => string;
  /** The `security` of a route; undefined if it is that of the document. */
  security: (route: DescribedRoute) => JsonObject[] | undefined;
  /** The body of an error, by dialect. */
  errors: Readonly<Record<DescribedRoute['dialect'], z.ZodType>>;
}

/** Those rows that say something to clients. */
export const describedIn = (routes: readonly (RouteFacts & Partial<Description>)[]): DescribedRoute[] =>
  routes.filter((route): route is DescribedRoute => route.summary !== undefined);

/**
 * The `paths` of a document in the order of the routes, and its `components.schemas` and `components.responses`: routes share most of their
 * refusals.
 */
export function describeRoutes(
  routes: readonly DescribedRoute[],
  surroundings: Surroundings,
): { paths: JsonObject; schemas: JsonObject; responses: JsonObject } {
  const named: NamedSchemas = new Map();
  const refusals = new SharedRefusals();
  const paths: Record<string, JsonObject> = {};
  for (const route of routes) {
    const path = (paths[templateOf(route.path)] ??= {});
    path[route.method.toLowerCase()] = describe(route, surroundings, { named, refusals });
  }
  const schemas = Object.fromEntries([...named].sort(([left], [right]) => (left < right ? -1 : 1)));
  return { paths, schemas, responses: refusals.byName };
}

interface Components {
  named: NamedSchemas;
  refusals: SharedRefusals;
}

function describe(route: DescribedRoute, surroundings: Surroundings, components: Components): JsonObject {
  const { named } = components;
  const parameters = describeParameters(route, surroundings.catalog, named);
  const security = surroundings.security(route);
  return {
    operationId: route.id ?? operationId(operationName(route)),
    summary: route.summary,
    description: [route.description, surroundings.accessText(route)].filter(Boolean).join('\n\n'),
    tags: [route.tag],
    ...(parameters.length > 0 && { parameters }),
    ...(route.accepts && {
      requestBody: { required: route.bodyRequired ?? true, content: describeBody(route, surroundings, named) },
    }),
    responses: {
      ...Object.fromEntries(
        Object.entries(route.answers).map(([status, answer]) => [status, describeAnswer(answer, named)] as const),
      ),
      ...describeErrors(route, surroundings, components),
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

function describeParameters(
  { params = {}, paramExamples, query = {}, headers = {} }: DescribedRoute,
  catalog: Catalog,
  named: NamedSchemas,
): JsonObject[] {
  const examples = paramExamples?.(catalog) ?? {};
  const described = Object.entries({ path: params, query, header: headers }).map(([location, shape]) =>
    Object.entries<z.ZodType>(shape).map(([name, schema]) => ({
      name,
      in: location,
      description: schema.description ?? '',
      required: location === 'path' || (location === 'query' && isRequired(schema)),
      ...(isDeepObject(schema) && { style: 'deepObject', explode: true }),
      schema: withoutDescription(bodySchema(schema, named)),
      ...(location === 'path' && examples[name] !== undefined && { example: examples[name] }),
    })),
  );
  return described.flat();
}

/** The description stands at the parameter. */
const withoutDescription = ({ description: _, ...schema }: JsonObject): JsonObject => schema;

function describeBody(
  { accepts = {}, examples, body }: DescribedRoute,
  { catalog, limits }: Surroundings,
  named: NamedSchemas,
): JsonObject {
  // Clients of other vendors may send fields that the route leaves out.
  const write = ['json_with_parts', 'json_or_form'].includes(body) ? tolerantBodySchema : bodySchema;
  const shown = examples?.(catalog) ?? {};
  return Object.fromEntries(
    Object.entries(accepts).map(([type, schema]) => {
      const written = typeof schema === 'function' ? schema({ catalog, limits, named }) : write(schema, named);
      const hasExamples = type === 'application/json' && Object.keys(shown).length > 0;
      return [type, { schema: written, ...(hasExamples && { examples: shown }) }];
    }),
  );
}

const describeAnswer = (
  { description, content, headers, sometimes }: DescribedAnswer,
  named: NamedSchemas,
): JsonObject => ({
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

const describeHeaders = (headers: DescribedAnswer['headers'] = {}, about: JsonObject = {}): JsonObject =>
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
function describeErrors(route: DescribedRoute, { errors }: Surroundings, { named, refusals }: Components): JsonObject {
  const { errors: own = [], refusesWithPages } = route;
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
