import { beforeAll, describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { errorTable } from '../../../src/domain/errors.ts';
import { operationName, templateOf } from '../../../src/http/openapi/describe-routes.ts';
import { openapiDocument } from '../../../src/http/openapi/openapi-document.ts';
import { isClientRoute } from '../../../src/http/route.ts';
import { breakingChanges } from './breaking-changes.ts';
import { defaultConfig, describedRoutes } from './described-routes.ts';
import { committedDocuments, documentNames, lastVersionOf, shippedModels } from './shipped-document.ts';

const Operation = z.looseObject({
  operationId: z.string(),
  parameters: z.array(z.looseObject({ name: z.string(), in: z.string() })).default([]),
  responses: z.record(z.string(), z.looseObject({ description: z.string() }).or(z.object({ $ref: z.string() }))),
});
const Document = z.looseObject({
  openapi: z.literal('3.1.0'),
  paths: z.record(z.string(), z.record(z.string(), Operation)),
  components: z.looseObject({
    schemas: z.record(z.string(), z.looseObject({})),
    responses: z.record(z.string(), z.looseObject({ description: z.string() })),
  }),
});

describe('the OpenAPI document', () => {
  const routes = describedRoutes().filter(isClientRoute);
  let document: z.infer<typeof Document>;
  let text: string;
  beforeAll(async () => {
    text = JSON.stringify(openapiDocument(routes, await shippedModels(), defaultConfig.tasks));
    document = Document.parse(JSON.parse(text));
  });

  it('describes every client route, and no other', () => {
    const described = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect(described.sort()).toEqual(routes.map(operationName).sort());
  });

  it.each(routes.map((route) => [operationName(route), route] as const))(
    'names every parameter in the path and the query of %s, and no other',
    (_name, route) => {
      const template = templateOf(route.path);
      const { parameters = [] } = document.paths[template]?.[route.method.toLowerCase()] ?? {};
      const named = (location: string) => parameters.filter((one) => one.in === location).map(({ name }) => name);
      expect(named('query').sort()).toEqual(Object.keys(route.query ?? {}).sort());
      expect(named('path')).toEqual([...template.matchAll(/\{(\w+)\}/g)].map(([, name]) => name));
    },
  );

  it('has an id of its own for each operation, a schema for each reference, and each refusal once', () => {
    const ids = Object.values(document.paths).flatMap((path) => Object.values(path).map((one) => one.operationId));
    expect(new Set(ids).size).toBe(ids.length);
    const referred = [...text.matchAll(/"#\/components\/schemas\/([^"]+)"/g)].map(([, name = '']) => name);
    expect(referred.length).toBeGreaterThan(50);
    expect(referred.filter((name) => !(name in document.components.schemas))).toEqual([]);
    const shared = [...text.matchAll(/"#\/components\/responses\/([^"]+)"/g)].map(([, name = '']) => name);
    expect([...new Set(shared)].sort()).toEqual(Object.keys(document.components.responses).sort());
    const refusals = Object.values(document.components.responses).map((refusal) => JSON.stringify(refusal));
    expect(new Set(refusals).size).toBe(refusals.length);
  });

  it.each(['openai', 'anthropic', 'gemini', 'legacy', 'legacy_data', 'mcp'] as const)(
    'says of a route that is open to everybody that it needs no key, also in the dialect %s',
    (dialect) => {
      const open = routes.filter(({ auth }) => auth === 'none').map((route) => ({ ...route, dialect }));
      const { paths } = Document.parse(openapiDocument(open, [], defaultConfig.tasks));
      const operations = Object.values(paths).flatMap((path) => Object.values(path));
      expect(operations.length).toBeGreaterThan(0);
      for (const operation of operations)
        expect(operation).toMatchObject({ security: [], description: expect.stringContaining('Needs no key.') });
    },
  );

  it('names its licence, and describes the items of every list by a schema that generators of clients read', () => {
    expect(JSON.parse(text)).toMatchObject({ info: { license: { identifier: 'Apache-2.0' } } });
    const lists = listsIn(JSON.parse(text));
    expect(lists.length).toBeGreaterThan(50);
    expect(lists.filter(({ items }) => typeof items !== 'object' || items === null)).toEqual([]);
  });

  it('names every error code that a client can meet', () => {
    // Routes of jobs and operators have tokens of their own; a wrong method belongs to no route.
    const operators = [
      'invalid_admin_token',
      'role_not_allowed',
      'cross_site_request',
      'action_refused',
      'version_conflict',
      'sign_in_failed',
      'unknown_operator',
    ];
    const elsewhere = ['invalid_job_token', 'invalid_metrics_token', 'method_not_allowed', ...operators];
    const codes = Object.keys(errorTable).filter((code) => !elsewhere.includes(code));
    expect(codes.filter((code) => !text.includes(`"${code}"`) && !text.includes(`\`${code}\``))).toEqual([]);
  });

  it('describes the body of each media model by the parameters of its catalog entry', async () => {
    for (const { model } of await shippedModels()) {
      if (model.type === 'chat') continue;
      const schema = document.components.schemas[`Create_${model.id}`];
      expect(schema).toMatchObject({ required: ['model', 'prompt'], additionalProperties: false });
      const credits = { minimum: 1, maximum: Number.MAX_SAFE_INTEGER };
      expect(schema).toMatchObject({ properties: { max_credits: credits } });
      const { img_size: sizes } = model.parameters;
      if (sizes) expect(schema).toMatchObject({ properties: { img_size: { enum: [...sizes, null] } } });
    }
  });
});

describe('the documents of both APIs', () => {
  it.each(documentNames)('break nothing that the last version promised: %s', (name) => {
    const lastVersion: unknown = JSON.parse(readFileSync(lastVersionOf(name), 'utf8'));
    expect(breakingChanges(lastVersion, committedDocuments()[name])).toEqual([]);
  });
});

/** Every schema of a list in a document. */
function listsIn(value: unknown): { items: unknown }[] {
  if (typeof value !== 'object' || value === null) return [];
  const inner = Object.values(value).flatMap(listsIn);
  return 'type' in value && value.type === 'array'
    ? [{ items: 'items' in value ? value.items : undefined }, ...inner]
    : inner;
}
