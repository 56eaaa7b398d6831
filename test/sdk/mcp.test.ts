import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { z } from 'zod';
import { probeBytes } from '../../src/platform/media/probe-media.ts';
import { startGateway, type Gateway, type TestProject } from '../support/gateway.ts';
import { accountOf } from '../support/rows.ts';

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({ env: { RATE_LIMIT_REST_SECONDS: '12' } });
});
afterAll(() => gateway?.stop());

let project: TestProject;

const picture = 'aurora-image-1';
/** Costs more than a call may cost if it names no `max_credits`. */
const dearVideo = 'veo-3.1';
const cheapVideo = 'wan-2.5';

const Result = z.object({
  content: z.array(z.looseObject({ type: z.string(), text: z.string().default(''), uri: z.string().default('') })),
  structuredContent: z.record(z.string(), z.unknown()).default({}),
  isError: z.boolean().default(false),
});
const Refusal = z.object({ error: z.looseObject({ code: z.string(), message: z.string() }) });

/** Calls a tool as an agent's client does: with a connection of its own. */
async function call(
  name: string,
  args: Record<string, unknown>,
  { key = project.apiKey, mode = 'legacy' }: { key?: string; mode?: 'legacy' | 'auto' } = {},
) {
  const client = await connect(key, mode);
  try {
    return Result.parse(await client.callTool({ name, arguments: args }));
  } finally {
    await client.close();
  }
}

async function connect(key: string, mode: 'legacy' | 'auto' = 'legacy'): Promise<Client> {
  const client = new Client({ name: 'agent', version: '1.0.0' }, { versionNegotiation: { mode } });
  const headers = { authorization: `Bearer ${key}` };
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${gateway.baseUrl}/mcp`), { requestInit: { headers } }),
  );
  return client;
}

/** The refusal that a tool answered. */
async function refusalOf(...args: Parameters<typeof call>) {
  const { content, isError } = await call(...args);
  expect(isError).toBe(true);
  return Refusal.parse(JSON.parse(content[0]?.text ?? '')).error;
}

const post = (body: string, headers: Record<string, string> = {}) =>
  fetch(`${gateway.baseUrl}/mcp`, {
    method: 'POST',
    headers: { authorization: `Bearer ${project.apiKey}`, 'content-type': 'application/json', ...headers },
    body,
  });
const listTools = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });

/** Tests of `/mcp` with the official client of the protocol. */
describe('@modelcontextprotocol/client', () => {
  beforeAll(async () => {
    project = await gateway.project({ credits: 10_000 });
  });
  afterEach(async () => expect(await gateway.verifyLedger()).toMatchObject({ ok: true }));

  it.each(['legacy', 'auto'] as const)(
    'finds a model, asks for a price and generates a picture to its end (%s)',
    async (mode) => {
      const client = await connect(project.apiKey, mode);
      expect(client.getProtocolEra()).toBe(mode === 'auto' ? 'modern' : 'legacy');
      expect(client.getServerCapabilities()).toMatchObject({ tools: { listChanged: false } });
      const { tools } = await client.listTools();
      expect(tools.map(({ name }) => name).sort()).toEqual([
        'generate_image',
        'generate_video',
        'get_task',
        'list_models',
        'quote',
      ]);
      await client.close();

      const listed = await call('list_models', { type: 'image' }, { mode });
      expect(listed.structuredContent['models']).toContainEqual(
        expect.objectContaining({ id: picture, type: 'image', credits_from: 4 }),
      );
      const one = await call('list_models', { model: picture }, { mode });
      expect(one.structuredContent).toMatchObject({ models: [{ parameters: { img_size: ['1k', '2k', '4k'] } }] });

      const args = { model: picture, prompt: `a fox for ${mode}`, parameters: { img_size: '2k' } };
      const { structuredContent: quote } = await call('quote', args, { mode });
      expect(quote).toMatchObject({ object: 'quote', credits: { quoted: 8 }, balance: { sufficient: true } });

      const before = await accountOf(gateway.database, project.projectId);
      const made = await call('generate_image', { ...args, wait_seconds: 50 }, { mode });
      expect(made).toMatchObject({
        isError: false,
        structuredContent: { status: 'succeeded', max_credits: 100, credits: { charged: 8 } },
      });
      expect(JSON.parse(made.content[0]?.text ?? '')).toEqual(made.structuredContent);
      const link = made.content.find(({ type }) => type === 'resource_link');
      const file = await fetch(link?.uri ?? '', { signal: AbortSignal.timeout(60_000) });
      expect(await probeBytes(Buffer.from(await file.arrayBuffer()))).toMatchObject({ mime_type: 'image/png' });
      expect((await accountOf(gateway.database, project.projectId)).balance).toBe(before.balance - 8);
    },
  );

  it('may send null for what it does not name: an argument, or all of them', async () => {
    const optional = { max_credits: null, wait_seconds: null, idempotency_key: null, parameters: null };
    const made = await call('generate_image', { model: picture, prompt: 'a fox of nulls', ...optional });
    expect(made).toMatchObject({ isError: false, structuredContent: { status: 'succeeded', max_credits: 100 } });
    const params = { name: 'list_models', arguments: null };
    const listed = await post(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }));
    expect(await listed.text()).toContain(`\\"id\\":\\"${picture}\\"`);
    expect(await call('list_models', { model: null, type: null })).toMatchObject({ isError: false });
  });

  it('receives a video as a task, and reads the task when it has ended', async () => {
    const made = await call('generate_video', {
      model: cheapVideo,
      prompt: 'a boat [[latency=1500]]',
      wait_seconds: 0,
    });
    const { task_id: taskId } = made.structuredContent;
    expect(made.content.at(-1)?.text).toContain(`Call get_task with its task_id`);
    const read = await call('get_task', { task_id: taskId, wait_seconds: 50 });
    expect(read.structuredContent).toMatchObject({ task_id: taskId, type: 'video', status: 'succeeded' });
    expect(read.content.find(({ type }) => type === 'resource_link')?.uri).toMatch(/^http/);
  });

  it('buys nothing that costs more than max_credits, which is 100 if absent, and learns the price', async () => {
    const before = await accountOf(gateway.database, project.projectId);
    const boat = { model: dearVideo, prompt: 'a boat' };
    expect(await refusalOf('generate_video', boat)).toMatchObject({
      code: 'max_credits_exceeded',
      message: 'This request costs 600 credits, and max_credits is 100.',
    });
    const fox = { model: picture, prompt: 'a fox', max_credits: 3 };
    expect(await refusalOf('generate_image', fox)).toMatchObject({ code: 'max_credits_exceeded' });
    const hidden = { model: dearVideo, prompt: 'a boat', parameters: { max_credits: 1_000 } };
    expect(await refusalOf('generate_video', hidden)).toMatchObject({
      code: 'invalid_value',
      param: 'parameters.max_credits',
    });
    expect(await accountOf(gateway.database, project.projectId)).toEqual(before);
  });

  it('buys once for an idempotency_key', async () => {
    const args = { model: picture, prompt: 'once by an agent', idempotency_key: 'agent-1', wait_seconds: 50 };
    const first = await call('generate_image', args);
    const again = await call('generate_image', args);
    expect(again.structuredContent['task_id']).toBe(first.structuredContent['task_id']);
    expect(await gateway.hits('once by an agent', 'submit')).toHaveLength(1);
    expect(await refusalOf('generate_image', { ...args, prompt: 'another' })).toMatchObject({
      code: 'idempotency_key_reused',
    });
  });

  it.each([
    [['aurora-*'], [picture]],
    [
      ['veo-3.?', 'wan-2.5'],
      [dearVideo, cheapVideo],
    ],
    [['claude-*'], []],
  ])('lists the models that its key may use: %j', async (models, listed) => {
    const { apiKey: key } = await gateway.key(project.projectId, { models });
    const { structuredContent } = await call('list_models', {}, { key });
    const ids = z.object({ models: z.array(z.object({ id: z.string() })) }).parse(structuredContent).models;
    expect(ids.map(({ id }) => id).sort()).toEqual([...listed].sort());
  });

  it('is told what is wrong with a call, and of a failed task why it failed', async () => {
    const ask = (more: object) => refusalOf('quote', { model: picture, prompt: 'a fox', ...more });
    expect(await ask({ model: 'aurora-image1' })).toMatchObject({
      message: 'There is no model aurora-image1. Did you mean aurora-image-1?',
    });
    expect(await ask({ parameters: { img_size: '8k' } })).toMatchObject({ code: 'invalid_value', param: 'img_size' });
    expect(await ask({ model: dearVideo, prompt: ' ' })).toMatchObject({ param: 'prompt' });
    const failed = await call('generate_image', { model: picture, prompt: '[[fail=refused]]', wait_seconds: 50 });
    expect(failed).toMatchObject({
      isError: true,
      structuredContent: { status: 'failed', error: { code: 'content_policy_violation' } },
    });
  });

  it('needs the scope of each tool, and finds only tasks of its own project', async () => {
    const { apiKey: key } = await gateway.key(project.projectId, { scopes: ['chat'] });
    for (const tool of ['quote', 'generate_image'])
      expect(await refusalOf(tool, { model: picture, prompt: 'a fox' }, { key })).toMatchObject({
        code: 'scope_not_allowed',
        message: 'This request needs a key with the scope media. This key has chat.',
      });
    expect((await call('list_models', {}, { key })).isError).toBe(false);
    const made = await call('generate_image', { model: picture, prompt: 'mine', wait_seconds: 50 });
    const read = { task_id: made.structuredContent['task_id'] };
    const { apiKey: foreign } = await gateway.project();
    expect(await refusalOf('get_task', read, { key: foreign })).toMatchObject({ code: 'task_not_found' });
    expect(await refusalOf('get_task', { task_id: 'task_1' })).toMatchObject({ code: 'task_not_found' });
    await expect(connect('sk-nobody')).rejects.toThrow('invalid');
  });

  it('is refused from a web page of another origin, before the key is looked up', async () => {
    for (const origin of ['https://evil.example', 'null', `http://evil.example:${new URL(gateway.baseUrl).port}`]) {
      const answer = await post(listTools, { origin, authorization: 'Bearer sk-nobody', host: 'evil.example' });
      expect(answer.status).toBe(403);
      expect(await answer.json()).toMatchObject({
        jsonrpc: '2.0',
        id: null,
        error: { code: -32_600, data: { code: 'origin_not_allowed', param: 'Origin' } },
      });
    }
    expect((await post(listTools, { origin: gateway.baseUrl })).status).toBe(200);
  });

  it('is refused in the words of the protocol what is no message of it', async () => {
    expect(await (await post('{')).json()).toMatchObject({
      jsonrpc: '2.0',
      id: null,
      error: { code: -32_700, data: { code: 'invalid_json' } },
    });
    const batch = await post(`[${listTools}]`);
    expect([batch.status, await batch.json()]).toMatchObject([400, { error: { code: -32_700 } }]);
    const other = await post('{"jsonrpc":"1.0"}');
    expect([other.status, await other.json()]).toMatchObject([
      400,
      { jsonrpc: '2.0', error: { code: expect.any(Number) } },
    ]);
    const unknown = await post(JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'tools/buy' }));
    expect(await unknown.text()).toContain('-32601');
    const response = await post('{"jsonrpc":"2.0","method":"notifications/initialized"}');
    expect([response.status, await response.text()]).toEqual([202, '']);
    for (const method of ['GET', 'DELETE']) {
      const answer = await fetch(`${gateway.baseUrl}/mcp`, { method, headers: { accept: 'text/event-stream' } });
      expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'POST']);
    }
  });

  it('may not keep a stream open, because nothing changes that it could be told of', async () => {
    const client = await connect(project.apiKey, 'auto');
    await expect(client.listen({ toolsListChanged: true })).rejects.toThrow();
    await client.close();
  });
});
