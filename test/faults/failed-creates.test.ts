import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { startCuttingProxy, type CuttingProxy } from '../db/cutting-proxy.ts';
import { mediaRoutes, type Answer } from '../support/api-client.ts';
import { eventually } from '../support/eventually.ts';
import { startGateway, type Gateway, type TestProject } from '../support/gateway.ts';
import { accountOf } from '../support/rows.ts';

let gateway: Gateway;
let proxy: CuttingProxy;
/** An API server that reaches PostgreSQL only through the proxy, and reserves credits itself. The worker reaches PostgreSQL directly. */
let cut: { name: string; baseUrl: string };

const credits = 1_000;

beforeAll(async () => {
  gateway = await startGateway();
  const url = new URL(gateway.env['DATABASE_URL'] ?? '');
  proxy = await startCuttingProxy(Number(url.port));
  url.port = String(proxy.port);
  cut = await gateway.startApi({ DATABASE_URL: url.href, CREATE_WAIT_MS: '0' });
});
afterAll(async () => {
  await gateway?.stop();
  await proxy?.close();
});
afterEach(async () => expect(await gateway.verifyLedger()).toMatchObject({ ok: true }));

const image = { model: 'aurora-image-1' };
const video = { model: 'kling-2.5-turbo' };
const gemini = '/api/v1beta/models/aurora-image-1';
type Body = (prompt: string) => Record<string, unknown>;
const routes: [route: string, body: Body][] = [
  [mediaRoutes.image, (prompt) => ({ ...image, prompt })],
  [mediaRoutes.video, (prompt) => ({ ...video, prompt })],
  ['/api/v1/api/generate', (prompt) => ({ ...image, prompt })],
  ['/v1/images/generations', (prompt) => ({ ...image, prompt })],
  ['/v1/videos', (prompt) => ({ ...video, prompt })],
  [`${gemini}:generateContent`, (prompt) => ({ contents: [{ role: 'user', parts: [{ text: prompt }] }] })],
  [`${gemini}:predict`, (prompt) => ({ instances: [{ prompt }] })],
];

const tasksOf = ({ projectId }: TestProject) =>
  gateway.database.query<{ id: string; admission: string; status: string }>(
    'test-tasks-of',
    'select id, admission, status from task where project_id = $1 order by created_at',
    [projectId],
  );
const admissionsOf = async (project: TestProject) => (await tasksOf(project)).map(({ admission }) => admission);
const whatItSays = ({ status, headers, body }: Answer) => ({
  reported: [status, headers.get('x-tollgate-accepted')],
  text: JSON.stringify(body),
});

// First, because what is withdrawn later reserves credits, too.
describe('a create without an Idempotency-Key whose reservation was committed without an answer', () => {
  it.each(routes)('to %s is accepted if PostgreSQL returns', async (route, body) => {
    const project = await gateway.project({ credits });
    const prompt = `accepted later ${route}`;
    const cuts = proxy.cuts();
    const resume = proxy.cutOffAfter('reserve-tasks');
    const answering = gateway.create(project.apiKey, route, body(prompt), { baseUrl: cut.baseUrl });
    await eventually(() => Promise.resolve(proxy.cuts() > cuts));
    resume();
    const { status } = await answering;
    expect(status).toBeLessThan(300);
    await eventually(async () => (await tasksOf(project))[0]?.status === 'succeeded');
    expect([await admissionsOf(project), await gateway.hits(prompt, 'submit')]).toMatchObject([['reserved'], [{}]]);
  });

  it('names its task if PostgreSQL stays away, and is canceled with a refund', async () => {
    const project = await gateway.project({ credits });
    const prompt = 'begun before it was withdrawn [[latency=60000]]';
    const resume = proxy.cutOffAfter('reserve-tasks');
    const answer = await gateway.create(
      project.apiKey,
      mediaRoutes.image,
      { ...image, prompt },
      { baseUrl: cut.baseUrl },
    );
    resume();
    const { reported, text } = whatItSays(answer);
    expect([reported, answer.headers.get('x-should-retry')]).toEqual([[503, 'unknown'], 'false']);
    const [task] = await tasksOf(project);
    expect(text).toContain(task?.id);
    expect(await gateway.poll(project.apiKey, task?.id ?? '')).toMatchObject({
      status: 'canceled',
      credits: { charged: 0 },
    });
    expect(await accountOf(gateway.database, project.projectId)).toEqual({ balance: credits, reserved: 0 });
  });
});

describe.each(routes)('POST %s whose row was written without an answer', (route, body) => {
  /** PostgreSQL commits this statement, and then the API server loses it until it has answered. */
  async function failAfter(statement: string, apiKey: string, prompt: string, headers: Record<string, string>) {
    const resume = proxy.cutOffAfter(statement);
    const answer = await gateway.create(apiKey, route, body(prompt), { baseUrl: cut.baseUrl, headers });
    resume();
    return whatItSays(answer);
  }

  it('says without an Idempotency-Key that it has no effect', async () => {
    const project = await gateway.project({ credits });
    const prompt = `never runs ${route}`;
    const { reported, text } = await failAfter('create_tasks', project.apiKey, prompt, {});
    expect(reported).toEqual([503, 'no']);
    expect(text).toContain('was not accepted');
    unkeyed.push({ project, prompt });
  });

  it('says with an Idempotency-Key that it may have been accepted, and the key finds the one task', async () => {
    const project = await gateway.project({ credits });
    const headers = { 'idempotency-key': randomUUID() };
    const prompt = `found by its key ${route}`;
    const { reported, text } = await failAfter('create_tasks', project.apiKey, prompt, headers);
    expect(reported).toEqual([503, 'unknown']);
    expect(text).toContain('same Idempotency-Key');
    const again = await gateway.create(project.apiKey, route, body(prompt), { headers });
    expect([again.status < 300, again.headers.get('idempotent-replayed')]).toEqual([true, 'true']);
    expect(await admissionsOf(project)).toEqual(['reserved']);
  });
});

/** What was created without an Idempotency-Key and answered with 503 and `no`. */
const unkeyed: { project: TestProject; prompt: string }[] = [];

describe('a create without an Idempotency-Key', () => {
  it('says as a tool of an agent that it has no effect if the answer about its row was lost', async () => {
    const project = await gateway.project({ credits });
    const prompt = 'never runs for an agent';
    const resume = proxy.cutOffAfter('create_tasks');
    const params = { name: 'generate_image', arguments: { ...image, prompt } };
    const answer = await fetch(`${cut.baseUrl}/mcp`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${project.apiKey}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
      signal: AbortSignal.timeout(60_000),
    });
    const [, event = ''] = /^data: (.*)$/m.exec(await answer.text()) ?? [];
    resume();
    const { result } = ToolAnswer.parse(JSON.parse(event));
    expect(JSON.parse(result.content[0]?.text ?? '')).toMatchObject({
      error: { code: 'service_unavailable', accepted: 'no', message: expect.stringContaining('was not accepted') },
    });
    unkeyed.push({ project, prompt });
  });

  it('says before its row is written that it has no effect, and with a key that an earlier request may have one', async () => {
    const { apiKey } = await gateway.project({ credits });
    const create = async (headers: Record<string, string>) => {
      const resume = proxy.cutOff();
      const answer = await gateway.create(
        apiKey,
        mediaRoutes.image,
        { ...image, prompt: 'not written' },
        { baseUrl: cut.baseUrl, headers },
      );
      resume();
      return whatItSays(answer).reported;
    };
    expect([await create({}), await create({ 'idempotency-key': randomUUID() })]).toEqual([
      [503, 'no'],
      [503, 'unknown'],
    ]);
  });

  it('that was answered 503 with "no" is rejected and never reaches a provider', async () => {
    expect(unkeyed).toHaveLength(routes.length + 1);
    for (const { project, prompt } of unkeyed) {
      await eventually(async () => (await admissionsOf(project))[0] === 'rejected');
      expect([await admissionsOf(project), await gateway.hits(prompt, 'submit')]).toEqual([['rejected'], []]);
      expect(await accountOf(gateway.database, project.projectId)).toEqual({ balance: credits, reserved: 0 });
    }
  });
});

const ToolAnswer = z.object({ result: z.object({ content: z.array(z.object({ text: z.string() })) }) });

/** Where PostgreSQL finds that its disk is full. */
const fullDisks = {
  'writes the row of a task': 'create trigger full_disk before insert on task for each row',
  'holds its credits': 'create trigger full_disk before insert on hold for each row',
  'commits what it wrote about a task':
    'create constraint trigger full_disk after insert or update on task deferrable initially deferred for each row',
  'commits the hold of its credits':
    'create constraint trigger full_disk after insert on hold deferrable initially deferred for each row',
};

describe.each(Object.entries(fullDisks))('PostgreSQL with a disk that is full when it %s', (when, trigger) => {
  it('lets no create run that was answered 503 without an Idempotency-Key, and each key finds one task', async () => {
    const sql = (text: string) => gateway.database.query('', text);
    const project = await gateway.project({ credits });
    const body = (prompt: string) => ({ ...image, prompt: `${prompt} ${when}` });
    const keys = [randomUUID(), randomUUID()];
    const create = (prompt: string, headers: Record<string, string> = {}) =>
      gateway.create(project.apiKey, mediaRoutes.image, body(prompt), { headers });
    const createAll = () =>
      Promise.all([
        ...[1, 2, 3].map(() => create('without a key')),
        ...keys.map((key) => create(`with ${key}`, { 'idempotency-key': key })),
      ]);
    await sql(`create function full_disk() returns trigger language plpgsql as $$ begin
      raise exception 'could not extend file: No space left on device' using errcode = '53100'; end $$`);
    await sql(`${trigger} when (new.project_id = '${project.projectId}') execute function full_disk()`);
    const tries: Answer[][] = [];
    try {
      tries.push(...(await Promise.all([createAll(), createAll()])));
    } finally {
      await sql('drop function full_disk cascade');
    }
    const expected = [...[1, 2, 3].map(() => [503, 'no']), ...keys.map(() => [503, 'unknown'])];
    expect(tries.map((answers) => answers.map((answer) => whatItSays(answer).reported))).toEqual([expected, expected]);

    for (const key of keys) {
      const found = await create(`with ${key}`, { 'idempotency-key': key });
      expect(found.status).toBe(202);
      expect(await gateway.poll(project.apiKey, found.taskId)).toMatchObject({ status: 'succeeded' });
      expect(await gateway.hits(`with ${key} ${when}`, 'submit')).toHaveLength(1);
    }
    await eventually(async () => !(await admissionsOf(project)).includes('open'));
    expect((await admissionsOf(project)).filter((admission) => admission === 'reserved')).toHaveLength(keys.length);
    expect(await gateway.hits(`without a key ${when}`, 'submit')).toEqual([]);
    expect(await accountOf(gateway.database, project.projectId)).toEqual({ balance: credits - 8, reserved: 0 });
  });
});
