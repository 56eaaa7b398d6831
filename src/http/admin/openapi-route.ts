import { z } from 'zod';
import type { JsonObject, JsonValue } from '../../domain/json.ts';
import type { Verb, VerbRoute } from '../../verbs/define-verb.ts';
import { allVerbs } from '../../verbs/table.ts';
import { bodySchema, type NamedSchemas } from '../openapi/json-schema.ts';
import type { Route } from '../route.ts';
import { adminPrefix } from './admin-prefix.ts';
import { bodyFields } from './verb-route.ts';

/** `GET /openapi.json`: every verb's route with its role and its inputs. It needs no token, and has nothing of the installation. */
export function adminOpenapiRoute(): Route {
  let document: JsonObject | undefined;
  return {
    auth: 'none',
    method: 'GET',
    path: `${adminPrefix}/openapi.json`,
    dialect: 'openai',
    body: 'none',
    handler: (ctx) => {
      ctx.body = document ??= adminDocument();
      return Promise.resolve();
    },
  };
}

/** The OpenAPI document of the admin API, made from the table of verbs. */
export function adminDocument(): JsonObject {
  const paths: Record<string, JsonObject> = {};
  for (const { name, verb } of allVerbs()) {
    if ('local' in verb.route) continue;
    const path = adminPrefix + verb.route.path.replace(/:(\w+)/g, '{$1}');
    paths[path] = { ...paths[path], [verb.route.method.toLowerCase()]: operationOf(name, verb, verb.route) };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Tollgate admin API',
      version: '1',
      description:
        'Each operation is a command of `tollgate`; docs/CLI.md describes them. Its answer is what `--json` prints.',
    },
    security: [{ token: [] }, { session: [] }],
    paths,
    components: {
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer', description: 'An admin token, `adm_…`.' },
        session: { type: 'apiKey', in: 'cookie', name: 'tollgate_session' },
      },
    },
  };
}

function operationOf(name: string, verb: Verb, route: VerbRoute): JsonObject {
  const fields = bodyFields(verb, route);
  const isRead = route.method === 'GET';
  const inPath = [...route.path.matchAll(/:(\w+)/g)].map(([, param = '']) => ({
    ...{ name: param, in: 'path', required: true },
    schema: { type: 'string' },
  }));
  const inQuery = isRead ? [...fields].map(([field, input]) => queryParameter(field, verb, input)) : [];
  const idempotency = {
    name: 'Idempotency-Key',
    in: 'header',
    required: false,
    schema: { type: 'string', maxLength: 255 },
  };
  return {
    operationId: `${route.method.toLowerCase()}_${name.replace(/\W+/g, '_')}`,
    summary: verb.summary,
    description: `\`tollgate ${name}\`. Needs the role \`${route.role}\`.${ownerWords(route)}`,
    tags: [name.split(' ')[0] ?? name],
    parameters: [...inPath, ...inQuery, ...(isRead ? [] : [idempotency])],
    ...(!isRead && fields.size > 0 && { requestBody: bodyOf(fields, verb) }),
    responses: {
      200: {
        description: 'The document of the command.',
        content: { 'application/json': { schema: { type: 'object' } } },
      },
      default: {
        description: 'A refusal: `{"error": {"message", "type", "code", "param"}}`.',
        content: { 'application/json': { schema: { type: 'object' } } },
      },
    },
  };
}

const ownerWords = ({ ownerInput = [] }: VerbRoute): string =>
  ownerInput.length === 0 ? '' : ` The inputs ${ownerInput.join(', ')} need \`owner\`.`;

const queryParameter = (field: string, verb: Verb, input: string): JsonObject => {
  const schema = verb.input[input] ?? z.unknown();
  return {
    name: field,
    in: 'query',
    required: isRequired(schema),
    description: schema.description ?? '',
    schema: { type: 'string' },
  };
};

function bodyOf(fields: ReadonlyMap<string, string>, verb: Verb): JsonObject {
  const named: NamedSchemas = new Map();
  const inputs = [...fields].map(([field, input]) => [field, verb.input[input] ?? z.unknown()] as const);
  const properties: Record<string, JsonValue> = {};
  for (const [field, schema] of inputs) {
    const { $schema: _, ...described } = bodySchema(schema, named);
    properties[field] = described;
  }
  const required = inputs.filter(([, schema]) => isRequired(schema)).map(([field]) => field);
  const schema = { type: 'object', properties, required, additionalProperties: false };
  return { required: required.length > 0, content: { 'application/json': { schema } } };
}

const isRequired = (schema: z.ZodType): boolean => !z.object({ value: schema }).safeParse({}).success;
