import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { startCuttingProxy, type CuttingProxy } from '../db/cutting-proxy.ts';
import { mediaRoutes } from '../support/api-client.ts';
import { eventually } from '../support/eventually.ts';
import { startGateway, type Gateway } from '../support/gateway.ts';

let gateway: Gateway;
let proxy: CuttingProxy;
/** An API server that reaches PostgreSQL only through the proxy. The worker reaches it directly. */
let cut: { name: string; baseUrl: string };

beforeAll(async () => {
  gateway = await startGateway();
  const url = new URL(gateway.env['DATABASE_URL'] ?? '');
  proxy = await startCuttingProxy(Number(url.port));
  url.port = String(proxy.port);
  cut = await gateway.startApi({ DATABASE_URL: url.href });
});
afterAll(async () => {
  await gateway?.stop();
  await proxy?.close();
});

const image = { model: 'aurora-image-1' };
const routes: [route: string, body: (prompt: string) => Record<string, unknown>][] = [
  [mediaRoutes.image, (prompt) => ({ ...image, prompt })],
  [mediaRoutes.video, (prompt) => ({ model: 'kling-2.5-turbo', prompt })],
  ['/api/v1/api/generate', (prompt) => ({ ...image, prompt })],
  ['/v1/images/generations', (prompt) => ({ ...image, prompt })],
  ['/v1/videos', (prompt) => ({ model: 'kling-2.5-turbo', prompt })],
  [
    '/api/v1beta/models/aurora-image-1:generateContent',
    (prompt) => ({ contents: [{ role: 'user', parts: [{ text: prompt }] }] }),
  ],
  ['/api/v1beta/models/aurora-image-1:predict', (prompt) => ({ instances: [{ prompt }] })],
];

describe.each(routes)('POST %s whose row was written without an answer', (route, body) => {
  /** The row is committed, and then the API server loses PostgreSQL until it has answered. */
  async function fail(apiKey: string, prompt: string, headers: Record<string, string>) {
    const resume = proxy.cutOffAfter('create_tasks');
    const answer = await gateway.create(apiKey, route, body(prompt), { baseUrl: cut.baseUrl, headers });
    resume();
    return { told: [answer.status, answer.headers.get('x-tollgate-accepted')], text: JSON.stringify(answer.body) };
  }
  const tasksOf = (projectId: string) =>
    gateway.database.query<{ admission: string }>('', 'select admission from task where project_id = $1', [projectId]);

  it('says without an Idempotency-Key that it has no effect, and never runs', async () => {
    const { projectId, apiKey } = await gateway.project({ credits: 1_000 });
    const prompt = `never runs ${route}`;
    const { told, text } = await fail(apiKey, prompt, {});
    expect(told).toEqual([503, 'no']);
    expect(text).toContain('was not accepted');
    await eventually(async () => (await tasksOf(projectId))[0]?.admission === 'rejected', { secondsMax: 60 });
    expect([await tasksOf(projectId), await gateway.hits(prompt, 'submit')]).toEqual([[{ admission: 'rejected' }], []]);
  });

  it('says with an Idempotency-Key that it may have been accepted, and the key finds the one task', async () => {
    const { projectId, apiKey } = await gateway.project({ credits: 1_000 });
    const headers = { 'idempotency-key': randomUUID() };
    const { told, text } = await fail(apiKey, `found by its key ${route}`, headers);
    expect(told).toEqual([503, 'unknown']);
    expect(text).toContain('same Idempotency-Key');
    const again = await gateway.create(apiKey, route, body(`found by its key ${route}`), { headers });
    expect([again.status < 300, again.headers.get('idempotent-replayed')]).toEqual([true, 'true']);
    expect(await tasksOf(projectId)).toEqual([{ admission: 'reserved' }]);
  });
});
