import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { ensureChannel } from '../../packages/dev-stack/src/ensure-channel.ts';
import { testConfig } from '../support/test-config.ts';
import { createSealer } from '../../src/platform/crypto/seal.ts';
import { clip } from '../../packages/sandbox/src/clip.ts';
import { mediaRoutes } from '../support/api-client.ts';
import { commandLine } from '../support/command-line.ts';
import { eventually } from '../support/eventually.ts';
import { startGateway, type Gateway } from '../support/gateway.ts';
import { accountOf } from '../support/rows.ts';

/** Answers the `n`-th request (from 1) for a result. */
type Store = (response: ServerResponse, n: number, request: IncomingMessage) => void;

let gateway: Gateway;
/** A provider of the family runway on a real socket, whose results are at `/store/<id>`. */
let baseUrl = '';
let store: Store = (response) => void response.writeHead(500).end();
let submits = 0;
let providerJobStatus = 'SUCCEEDED';
let downloads = 0;
const mp4 = clip({ width: 64, height: 48, seconds: 1, seed: 1 });

const provider = createServer((request, response) => {
  const url = request.url ?? '';
  if (/^\/(store|hop)/.test(url)) return store(response, ++downloads, request);
  request.resume();
  if (request.method === 'POST') submits += 1;
  const output = [`${baseUrl}/store/clip.mp4`];
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ id: 'job1', status: providerJobStatus, output }));
});

beforeAll(async () => {
  await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve));
  baseUrl = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`;
  gateway = await startGateway({ env: { POLL_INTERVAL_MAX_MS: '100' } });
  const [{ groups } = { groups: [] }] = await gateway.database.query<{ groups: string[] }>(
    'test-off',
    `update channel set enabled = false where adapter = 'runway' returning groups`,
  );
  await ensureChannel(
    { db: gateway.database, sealer: createSealer(testConfig(gateway.env).secrets.masterKeys) },
    {
      name: 'scripted',
      adapter: 'runway',
      baseUrl,
      credential: 'k',
      groups,
      priority: 1,
      weight: 1,
      actor: 'test',
    },
  );
  // The worker may still have the channels of its start.
  await eventually(async () => {
    await buy((response) => void response.end(mp4));
    return submits > 0;
  });
});
afterAll(async () => {
  await gateway?.stop();
  provider.closeAllConnections();
  await new Promise((resolve) => provider.close(resolve));
});
afterEach(async () => expect(await gateway.verifyLedger()).toMatchObject({ ok: true }));

async function buy(newStore: Store) {
  store = newStore;
  downloads = 0;
  submits = 0;
  const { apiKey, projectId } = await gateway.project({ credits: 10_000 });
  const taskId = await gateway.accept(apiKey, mediaRoutes.video, {
    model: 'runway-gen-4.5',
    prompt: 'a fox',
    duration: 8,
  });
  const task = await gateway.poll(apiKey, taskId);
  return { task, taskId, apiKey, account: await accountOf(gateway.database, projectId) };
}

const branded = (brand: string): Buffer => {
  const bytes = Buffer.from(mp4);
  bytes.write(brand, 8, 'latin1');
  return bytes;
};

describe('a clip that was made', () => {
  it.each(['isom', 'hvc1', 'cmfc', 'av01', 'M4VP', 'new!'])(
    'is delivered in a container of the brand %j',
    async (brand) => {
      const { task } = await buy((response) => void response.end(branded(brand)));
      expect(task).toMatchObject({ status: 'succeeded', output: [{ mime_type: 'video/mp4', width: 64, height: 48 }] });
      expect([submits, downloads]).toEqual([1, 1]);
    },
  );

  it.each([400, 401, 403, 404, 409, 410, 425, 429, 500, 503])(
    'is delivered if its address answers %d once',
    async (status) => {
      const { task } = await buy(
        (response, n) => void (n === 1 ? response.writeHead(status).end() : response.end(mp4)),
      );
      expect(task).toMatchObject({ status: 'succeeded', credits: { refunded: 0 } });
      expect([submits, downloads]).toEqual([1, 2]);
    },
  );

  it('is delivered over five redirects', async () => {
    const { task } = await buy(
      (response, n) => void (n <= 5 ? response.writeHead(302, { location: `/hop/${n}` }).end() : response.end(mp4)),
    );
    expect(task.status).toBe('succeeded');
    expect([submits, downloads]).toEqual([1, 6]);
  });

  it('can be saved by an operator if its address refuses for good', async () => {
    const { task, taskId, apiKey, account } = await buy((response) => void response.writeHead(403).end());
    expect(task).toMatchObject({
      status: 'failed',
      error: { code: 'upstream_invalid_response' },
      credits: { charged: 0 },
    });
    expect([submits, downloads]).toEqual([1, 5]);
    const { done } = commandLine(() => gateway.env);
    const address = `${baseUrl}/store/clip.mp4`;
    expect(await done('tasks', 'show', taskId)).toMatchObject({ kept_results: [{ attempt: 1, url: address }] });
    const [row] = await gateway.database.query<{ result: unknown }>(
      '',
      'select result from attempt where request_id = $1',
      [taskId],
    );
    expect(JSON.stringify(row)).not.toContain('clip.mp4');
    store = (response) => void response.end(mp4);
    await done('tasks', 'adopt', taskId, '--result', address);
    const polled = await gateway.poll(apiKey, taskId);
    expect(polled).toMatchObject({
      status: 'failed',
      output: [{ width: 64, url: expect.stringContaining('/files/') }],
    });
    expect((await fetch(polled.output?.[0]?.url ?? '')).status).toBe(200);
    expect(account.balance).toBe(10_000);
  });

  it('is asked for once more and adopted if its job ended after its task, and its charge counts for the channel', async () => {
    store = (response) => void response.end(mp4);
    providerJobStatus = 'RUNNING';
    submits = 0;
    const { apiKey } = await gateway.project({ credits: 10_000 });
    const body = { model: 'runway-gen-4.5', prompt: 'a late fox', duration: 8 };
    const taskId = await gateway.accept(apiKey, mediaRoutes.video, body);
    const { done, refused } = commandLine(() => gateway.env);
    await eventually(async () => {
      const sql = 'select 1 from attempt where request_id = $1 and operation is not null';
      return (await gateway.database.query('test-submitted', sql, [taskId])).length === 1;
    });
    await done('tasks', 'cancel', taskId);
    expect(await refused('tasks', 'adopt', taskId)).toContain('it has not ended');
    providerJobStatus = 'SUCCEEDED';
    expect(await done('tasks', 'adopt', taskId, '--charge')).toMatchObject({ output: [{ width: 64, height: 48 }] });
    expect(submits).toBe(1);
    const entries = await gateway.database.query<{ channel: string }>(
      '',
      `select c.name as channel from ledger_entry e join channel c on c.id = e.channel_id
       where e.request_id = $1 and e.kind = 'adjust'`,
      [taskId],
    );
    expect(entries).toEqual([{ channel: 'scripted' }]);
  });
});
