import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { mediaRoutes } from '../support/api-client.ts';
import { findDebianProgram } from '../deploy/debian-program.ts';
import { startCaddy } from '../deploy/proxy.ts';
import { startGateway, type Gateway } from '../support/gateway.ts';
import { chooseOwnPort } from '../support/own-port.ts';
import { endsOf, eventually, expectOneSubmitPerAttempt } from './crowd.ts';

const caddy = findDebianProgram('caddy');
const notTested = caddy === null ? ' (not tested: Caddy is not installed, and there is no package of Debian)' : '';

/** As in the containers of docker-compose.yml: two addresses with the same ports. */
const hosts = ['127.0.0.2', '127.0.0.3'] as const;
const chatTokens = 40;

(caddy === null ? describe.skip : describe)(`a rolling release behind deploy/Caddyfile${notTested}`, () => {
  let gateway: Gateway;
  let stopCaddy: (() => Promise<void>) | undefined;
  let startServer: (host: string) => Promise<string>;
  /** After the servers: Caddy would take those that it has not seen yet for dead until it asks again. */
  let startProxy: () => Promise<void>;

  beforeAll(async () => {
    const [port, adminPort, proxyAdminPort] = [await chooseOwnPort(), await chooseOwnPort(), await chooseOwnPort()];
    // The port of the gateway's base URL, on which no API server listens, is that of the proxy.
    gateway = await startGateway({ apis: 0, workers: 2 });
    startServer = async (host) => {
      const own = { HOST: host, PORT: String(port), ADMIN_PORT: String(adminPort), SHUTDOWN_READY_DELAY_SECONDS: '20' };
      return (await gateway.startApi(own)).name;
    };
    startProxy = async () => {
      stopCaddy = await startCaddy(caddy ?? '', {
        file: 'Caddyfile',
        port: Number(new URL(gateway.baseUrl).port),
        env: {
          API: hosts[0],
          API_2: hosts[1],
          PORT: String(port),
          ADMIN_PORT: String(adminPort),
          PROXY_ADMIN_PORT: String(proxyAdminPort),
        },
      });
    };
  });
  afterAll(async () => {
    await stopCaddy?.();
    await gateway?.stop();
  });

  it('fails no request and breaks no stream while two API servers and two workers are replaced one by one', async () => {
    const servers = await Promise.all(hosts.map(startServer));
    await startProxy();
    const { projectId, apiKey } = await gateway.project({ credits: 100_000 });
    const load = startLoad(gateway, apiKey);
    try {
      for (const [index, host] of hosts.entries()) {
        await load.more();
        await gateway.kill(servers[index] ?? '', 'SIGTERM');
        await startServer(host);
      }
      for (const worker of ['worker-1', 'worker-2']) {
        await load.more();
        await gateway.kill(worker, 'SIGTERM');
        await gateway.startWorker();
      }
      await load.more();
    } finally {
      await load.stop();
    }

    expect(load.failures).toEqual([]);
    expect(load.counts.streams).toBeGreaterThan(20);
    expect(load.counts.chats).toBeGreaterThan(20);
    const ends = await endsOf(gateway, projectId);
    expect([ends.length, ends.filter(({ status }) => status !== 'succeeded')]).toEqual([load.counts.creates, []]);
    expect(await expectOneSubmitPerAttempt(gateway, 'while releases roll')).toBe(load.counts.creates);
    const report = await gateway.verifyLedger();
    expect(Object.entries(report.invariants).filter(([, { breaches }]) => breaches > 0)).toEqual([]);
  });
});

const Created = z.object({ task_id: z.string() });

/** Sends chats, streams and creates on a few lanes each until it is stopped. */
function startLoad(gateway: Gateway, apiKey: string) {
  const failures: string[] = [];
  const counts = { chats: 0, streams: 0, creates: 0 };
  let isStopped = false;
  const lane = async (kind: keyof typeof counts, send: (n: number) => Promise<string | null>): Promise<void> => {
    while (!isStopped) {
      const failure = await send(counts[kind]++).catch((error: unknown) => String(error));
      if (failure !== null) failures.push(`${kind}: ${failure}`);
    }
  };
  const post = (path: string, body: object, key?: string) =>
    fetch(`${gateway.baseUrl}${path}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${apiKey}`,
        'content-type': 'application/json',
        ...(key !== undefined && { 'idempotency-key': key }),
      },
      body: JSON.stringify(body),
    });
  /** By requests that wait for the end. An API server that stops answers them immediately. */
  const waitForEnd = async (taskId: string): Promise<string | null> => {
    for (;;) {
      const { status, body } = await gateway.get(apiKey, `/api/v1/tasks/${taskId}?wait=30`);
      if (status !== 200) return `${status} ${JSON.stringify(body)}`;
      if (body['status'] === 'succeeded') return null;
      if (body['status'] === 'failed') return JSON.stringify(body);
    }
  };
  const chat = (words: string, stream: boolean) => ({
    model: 'claude-haiku-5.5',
    max_tokens: 200,
    stream,
    messages: [{ role: 'user', content: `while releases roll ${words}` }],
  });
  const lanes = [
    ...Array.from({ length: 3 }, () =>
      lane('chats', async () => {
        const answer = await post('/v1/chat/completions', chat('[[latency=100]]', false));
        const text = await answer.text();
        return answer.status === 200 && text.includes('choices') ? null : `${answer.status} ${text}`;
      }),
    ),
    ...Array.from({ length: 4 }, () =>
      lane('streams', async () => {
        const answer = await post('/v1/chat/completions', chat(`[[tokens=${chatTokens} rate=20]]`, true));
        const text = await answer.text();
        return answer.status === 200 && text.trimEnd().endsWith('[DONE]')
          ? null
          : `${answer.status} ${text.slice(-300)}`;
      }),
    ),
    lane('creates', async (n) => {
      const body = { model: 'aurora-image-1', prompt: `while releases roll ${n} [[latency=1500]]` };
      const answer = await post(mediaRoutes.image, body, `roll-${n}`);
      const text = await answer.text();
      if (answer.status !== 202) return `${answer.status} ${text}`;
      return waitForEnd(Created.parse(JSON.parse(text)).task_id);
    }),
  ];
  return {
    failures,
    counts,
    /** Resolves once each kind was sent again, so that every step of the release has its share of the load. */
    async more() {
      const before = { ...counts };
      await eventually(120, () =>
        Promise.resolve(
          (counts.chats > before.chats + 5 && counts.streams > before.streams + 4 && counts.creates > before.creates) ||
            'too little load',
        ),
      );
    },
    async stop() {
      isStopped = true;
      await Promise.all(lanes);
    },
  };
}
