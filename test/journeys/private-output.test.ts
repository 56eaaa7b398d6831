import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { createServer, type RequestListener } from 'node:http';
import { mediaRoutes } from '../support/api-client.ts';
import { startGateway, type Gateway } from '../support/gateway.ts';
import { accountOf } from '../support/rows.ts';

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({ workers: 0, env: { EGRESS_ALLOW_CIDRS: '' } });
});
afterAll(() => gateway?.stop());

let provider: Listening;
let neighbour: Listening;
/** The image URL that the provider returns. */
let resultUrl = '';
const fetched: string[] = [];

/**
 * Tests of results with private URLs. The gateway must refuse private addresses and have no worker. The channels lead nowhere
 * afterwards.
 */
describe('private outputs', () => {
  beforeAll(async () => {
    neighbour = await listen((request, response) => {
      fetched.push(request.url ?? '');
      response.end('secret');
    });
    provider = await listen(answerAsFal);
    await gateway.database.query('test-provider', `update channel set base_url = $1, enabled = (adapter = 'fal')`, [
      provider.url,
    ]);
    // It starts after the change of the channels, because a worker caches them.
    await gateway.startWorker();
  });
  afterAll(async () => {
    await Promise.all([provider.close(), neighbour.close()]);
  });
  afterEach(async () => expect(await gateway.verifyLedger()).toMatchObject({ ok: true }));

  describe('a result with a private URL', () => {
    it.each([
      ['on another port of the same machine', () => `${neighbour.url}/secret.png`],
      ['on a cloud metadata service', () => 'http://169.254.169.254/latest/meta-data'],
      ['in a private network', () => 'https://10.0.0.1/a.png'],
      ['in a local file', () => 'file:///etc/passwd'],
    ])('is not fetched and refunds the task: %s', async (_what, url) => {
      resultUrl = url();
      const { apiKey, projectId } = await gateway.project({ credits: 10 });
      const taskId = await gateway.accept(apiKey, mediaRoutes.image, { model: 'aurora-image-1', prompt: 'a fox' });
      const task = await gateway.poll(apiKey, taskId);
      expect(task).toMatchObject({
        status: 'failed',
        error: { code: 'upstream_invalid_response' },
        output: null,
        credits: { charged: 0, refunded: 4 },
      });
      expect(JSON.stringify(task)).not.toContain(resultUrl);
      expect(await accountOf(gateway.database, projectId)).toEqual({ balance: 10, reserved: 0 });
      expect(fetched).toEqual([]);
    });
  });
});
/** A fal provider that completes every job immediately. */
const answerAsFal: RequestListener = (request, response) => {
  const path = request.url ?? '';
  const isStatus = path.endsWith('/status');
  const answer =
    request.method === 'POST'
      ? { status: 'IN_QUEUE', request_id: 'job-1' }
      : isStatus
        ? { status: 'COMPLETED', request_id: 'job-1' }
        : { images: [{ url: resultUrl, content_type: 'image/png' }] };
  request.resume();
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify(answer));
};

interface Listening {
  url: string;
  close(): Promise<void>;
}

async function listen(listener: RequestListener): Promise<Listening> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  return {
    url: `http://127.0.0.1:${address !== null && typeof address === 'object' ? address.port : 0}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
