import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import type { CatalogEntry } from '../../../src/domain/catalog/catalog.ts';
import { errorTable } from '../../../src/domain/errors.ts';
import { documentationRoutes } from '../../../src/http/routes/documentation.ts';
import { sendRaw } from '../../support/raw-request.ts';
import { defaultConfig, describedRoutes } from '../openapi/described-routes.ts';
import { shippedModels } from '../openapi/shipped-document.ts';
import { startFrame, type Frame } from '../support.ts';

let frame: Frame;
let entries: readonly CatalogEntry[];
beforeAll(async () => {
  entries = await shippedModels();
  const others = describedRoutes().filter(({ tag }) => tag !== 'Documentation');
  const deps = {
    catalog: { entries: () => Promise.resolve(entries) },
    config: {
      http: { publicBaseUrl: 'https://gateway.example' },
      secrets: defaultConfig.secrets,
      tasks: { imageDeadlineSeconds: 20, videoDeadlineSeconds: 7_200 },
    },
  };
  frame = await startFrame({ routes: documentationRoutes(deps, others) });
});
afterAll(() => frame?.close());

const get = (path: string, headers: Record<string, string> = {}) => fetch(`${frame.url}${path}`, { headers });
const documentOf = async (): Promise<string> => (await get('/api/v1/openapi.json')).text();

describe('GET /api/v1/openapi.json', () => {
  it('answers without a key, in every coding, and 304 to the client that has it', async () => {
    const first = await get('/api/v1/openapi.json', { 'accept-encoding': 'br' });
    expect(first.status).toBe(200);
    expect(first.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(first.headers.get('content-encoding')).toBe('br');
    expect(await first.json()).toMatchObject({ openapi: '3.1.0', paths: { '/api/v1/models': { get: {} } } });
    const etag = first.headers.get('etag') ?? '';
    const again = await get('/api/v1/openapi.json', { 'accept-encoding': 'br', 'if-none-match': etag });
    expect(again.status).toBe(304);
  });

  it('has the models of the catalog as soon as they change', async () => {
    expect(await documentOf()).toContain('Create_veo-3.1');
    const before = entries;
    entries = before.filter(({ model }) => model.id !== 'veo-3.1');
    expect(await documentOf()).not.toContain('Create_veo-3.1');
    entries = before.map((entry) => (entry.model.id === 'veo-3.1' ? hidden(entry) : entry));
    expect(await documentOf()).not.toContain('Create_veo-3.1');
    entries = before;
  });

  it("has the operator's limits of deadlines", async () => {
    expect(await deadlineOf('aurora-image-1')).toMatchObject({ minimum: 20, maximum: 20 });
    expect(await deadlineOf('veo-3.1')).toMatchObject({ minimum: 30, maximum: 7_200 });
  });
});

/** The bounds of `deadline_seconds` in the body of a model, in the document that is served. */
const deadlineOf = async (model: string): Promise<unknown> => {
  const { components } = Document.parse(await (await get('/api/v1/openapi.json')).json());
  return components.schemas[`Create_${model}`]?.properties['deadline_seconds'];
};
const Schema = z.looseObject({ properties: z.record(z.string(), z.unknown()).default({}) });
const Document = z.looseObject({ components: z.looseObject({ schemas: z.record(z.string(), Schema) }) });

const hidden = (entry: CatalogEntry): CatalogEntry => ({ ...entry, private: { ...entry.private, public: false } });

describe('the pages', () => {
  it('show the document with a script from this server, under a policy that names no other host', async () => {
    const page = await get('/docs');
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
    const policy = page.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'; script-src 'self';");
    expect(policy).not.toMatch(/https?:|\*|unsafe-eval/);
    const html = await page.text();
    expect(html).not.toMatch(/(?:src|href)="(?:https?:)?\/\//);
    expect(html).not.toMatch(/<script>/);
    for (const [, path = ''] of html.matchAll(/src="([^"]+)"/g)) expect((await get(path)).status).toBe(200);
  });

  it('send the script of the reference compressed, and plain to a client that takes nothing else', async () => {
    const read = (headers: Record<string, string>) =>
      sendRaw({ method: 'GET', url: `${frame.url}/docs/assets/scalar.js`, headers });
    const compressed = await read({ 'accept-encoding': 'gzip' });
    expect(compressed.headers['content-encoding']).toBe('gzip');
    const plain = await read({});
    expect(plain.headers['content-encoding']).toBeUndefined();
    expect(plain.text).toContain('createApiReference');
    expect(plain.headers.etag).not.toBe(compressed.headers.etag);
    expect(Number(plain.headers['content-length'])).toBeGreaterThan(3 * Number(compressed.headers['content-length']));
  });

  it.each(Object.keys(errorTable))('explain %s', async (code) => {
    const page = await get(`/docs/errors/${code}`);
    expect(page.status).toBe(200);
    expect(await page.text()).toContain(`<h1><code>${code}</code></h1>`);
    expect(await (await get('/docs/errors')).text()).toContain(`href="/docs/errors/${code}"`);
  });

  it.each(['/docs/errors/nonsense', '/docs/errors/constructor', '/docs/assets/nonsense', '/docs/assets/..%2fpage.ts'])(
    'answer 404 to %s',
    async (path) => {
      expect((await get(path)).status).toBe(404);
    },
  );
});

describe('GET /', () => {
  const browser = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';

  it('is a page for a browser, under the policy of the other pages', async () => {
    const answer = await get('/?utm_source=mail', { accept: browser });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(answer.headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(await answer.text()).toContain('<code>https://gateway.example/v1</code>');
  });

  it.each(['*/*', 'application/json', 'text/plain'])(
    'is one line of JSON for a program that accepts %s',
    async (accept) => {
      const answer = await get('/', { accept });
      expect(answer.status).toBe(200);
      const text = await answer.text();
      expect(text.trimEnd()).not.toContain('\n');
      expect(JSON.parse(text)).toMatchObject({ name: 'tollgate', openai_base_url: 'https://gateway.example/v1' });
    },
  );
});

describe('GET /llms.txt', () => {
  it('names the base URL of each SDK', async () => {
    const text = await (await get('/llms.txt')).text();
    expect(text).toContain('`base_url` = https://gateway.example/v1.');
    expect(text).not.toContain('base URL + `/api/v1`');
  });

  it('names the base URL, every model, every route and every error code', async () => {
    const text = await (await get('/llms.txt')).text();
    expect(text).toContain('https://gateway.example/api/v1/openapi.json');
    for (const { model } of entries) expect(text).toContain(`\`${model.id}\``);
    for (const code of Object.keys(errorTable)) expect(text).toContain(`\`${code}\``);
    expect(text).toContain('`POST /api/v1/images/generate`');
  });
});
