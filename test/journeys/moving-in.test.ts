import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { commandLine } from '../support/command-line.ts';
import { startGateway, type Gateway } from '../support/gateway.ts';
import { projectFolder } from '../support/program.ts';

const fixture = join(projectFolder, 'test/services/imports/fixtures/new-api/new-api.db');

let gateway: Gateway;
let folder: string;
beforeAll(async () => {
  // A credit is worth what a fresh installation makes it worth.
  gateway = await startGateway({ env: { CREDIT_VALUE_MICRO_USD: '1' } });
  folder = mkdtempSync(join(tmpdir(), 'tollgate-moving-'));
});
afterAll(async () => {
  await gateway?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const { done } = commandLine(() => ({ ...gateway.env, TOLLGATE_BASE_URL: gateway.baseUrl }));

/** Of a token of alice without limits, as her client has it. */
const theirKey = (): string => {
  const database = new DatabaseSync(fixture, { readOnly: true });
  const row = database.prepare(`select key from tokens where name = 'web'`).get();
  database.close();
  return `sk-${String(row?.['key'])}`;
};

const call = (path: string, headers: Record<string, string>, body?: object): Promise<Response> =>
  fetch(`${gateway.baseUrl}${path}`, {
    headers: { 'content-type': 'application/json', ...headers },
    ...(body && { method: 'POST', body: JSON.stringify(body) }),
  });

describe('after the import of new-api, by the steps of docs/MIGRATING.md', () => {
  const messages = [{ role: 'user', content: 'Hello' }];

  it('a client goes on with its old key on every route', async () => {
    await done('import', 'new-api', '--from', fixture, '--dry-run');
    await done('import', 'new-api', '--from', fixture);
    const key = theirKey();
    const bearer = { authorization: `Bearer ${key}` };
    const chat = { model: 'gpt-5-mini', messages };
    const answers = await Promise.all([
      call('/v1/chat/completions', bearer, chat),
      call('/v1/chat/completions', { authorization: `Bearer ${key.slice(3)}` }, chat),
      call('/v1/messages', { 'x-api-key': key, 'anthropic-version': '2023-06-01' }, { ...chat, max_tokens: 100 }),
      call(
        '/v1beta/models/gemini-2.5-flash:generateContent',
        { 'x-goog-api-key': key },
        {
          contents: [{ role: 'user', parts: [{ text: 'Hello' }] }],
        },
      ),
      call('/v1/models', bearer),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    const [models] = [await answers[4]?.json()] as { data: object[] }[];
    expect(models?.data[0]).toMatchObject({ supported_endpoint_types: expect.any(Array) });
  });

  it('a client reads its limit and what it has spent as it did there', async () => {
    const bearer = { authorization: `Bearer ${theirKey()}` };
    const read = async (path: string): Promise<Record<string, unknown>> => {
      const answer = await call(path, bearer);
      expect({ path, status: answer.status }).toEqual({ path, status: 200 });
      return (await answer.json()) as Record<string, unknown>;
    };
    for (const prefix of ['', '/v1']) {
      const { hard_limit_usd: limit } = await read(`${prefix}/dashboard/billing/subscription`);
      const { total_usage: cents } = await read(
        `${prefix}/dashboard/billing/usage?start_date=2026-01-01&end_date=2026-02-01`,
      );
      expect(Number(limit)).toBeCloseTo(9.982, 4);
      expect(Number(cents)).toBeGreaterThan(0);
    }
    for (const path of ['/api/usage/token', '/api/usage/token/'])
      expect(await read(path)).toMatchObject({
        code: true,
        data: { object: 'token_usage', name: 'web', unlimited_quota: true },
      });
    expect(await read('/key/info')).toMatchObject({ info: { key_alias: 'web', max_budget: null } });
    const capable = { supports_vision: true, supports_function_calling: true, supports_reasoning: true };
    const listing = (about: object) => ({
      data: expect.arrayContaining([
        expect.objectContaining({ model_name: 'gpt-5-mini', model_info: expect.objectContaining(about) }),
      ]),
    });
    // The plan of the import has no price of its own for cached input.
    for (const path of ['/model/info', '/v1/model/info'])
      expect(await read(path)).toMatchObject(listing({ ...capable, supports_prompt_caching: false }));
    const rules = join(folder, 'rules.json');
    const prices = { credits_per_1k_cached_input_tokens: 1 };
    writeFileSync(rules, JSON.stringify([{ models: 'gpt-5-mini', prices }]));
    await done('plans', 'create', '--name', 'cached', '--rules', rules);
    const { apiKey, projectId } = await gateway.project();
    await done('projects', 'set', projectId, '--plan', 'cached');
    const listed = await call('/model/info', { authorization: `Bearer ${apiKey}` });
    expect(await listed.json()).toMatchObject(
      listing({ ...capable, supports_prompt_caching: true, cache_read_input_token_cost: expect.any(Number) }),
    );
  });

  it('headers of clients of LiteLLM are ignored and named', async () => {
    const headers = { authorization: `Bearer ${theirKey()}`, 'x-litellm-tags': 'a', 'x-litellm-timeout': '10' };
    const answer = await call('/v1/chat/completions', headers, { model: 'gpt-5-mini', messages });
    expect({ status: answer.status, ignored: answer.headers.get('x-tollgate-ignored') }).toEqual({
      status: 200,
      ignored: 'x-litellm-tags, x-litellm-timeout',
    });
  });

  it('shadow compares status, shape and price of the same requests', async () => {
    const requests = join(folder, 'requests.jsonl');
    const lines = [
      { path: '/v1/chat/completions', body: { model: 'gpt-5-mini', messages } },
      { method: 'GET', path: '/v1/models/gpt-5-mini' },
    ];
    writeFileSync(requests, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
    const compared = await done('shadow', '--url', gateway.baseUrl, '--key', theirKey(), '--requests', requests);
    expect(compared).toMatchObject({
      requests: 2,
      same: 2,
      data: [{ same_price: true, here: { status: 200 } }, { there: { status: 200, usd: 0 } }],
    });
  });

  it('a second import leaves what was spent here, and takes what was spent there', async () => {
    const nothing = { projects: 0, keys: 0, channels: 0 };
    expect(await done('import', 'new-api', '--from', fixture)).toMatchObject({ created: nothing, changed: nothing });
    expect((await gateway.verifyLedger()).ok).toBe(true);
  });
});
