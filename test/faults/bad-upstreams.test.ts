import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { all, chat, chatFacts, countVerdicts, requestIdOf, tenCredits, verdictOf } from '../services/chat/chats.ts';
import type { Answer } from '../support/api-client.ts';
import { eventually } from '../support/eventually.ts';
import { startGateway, type Gateway, type TestProject } from '../support/gateway.ts';
import { accountOf, attemptsOf, entriesOf } from '../support/rows.ts';
import { completion, startChatUpstream, type ChatUpstream } from '../support/chat-upstream.ts';

let gateway: Gateway;
let project: TestProject;
let upstreams: ChatUpstream[];
/** The URL of an API server whose upstream timeout is one second. */
let impatient: string;

beforeAll(async () => {
  upstreams = await Promise.all([startChatUpstream(), startChatUpstream(), startChatUpstream()]);
  gateway = await startGateway({
    workers: 0,
    env: {
      CHAT_ATTEMPT_TIMEOUT_SECONDS: '20',
      RETRIES_PER_MINUTE_MIN: '1000',
      // The circuit breaker is off here. test/faults/failing-channels.test.ts covers it.
      BREAKER_FAILURES_MAX: '1000',
      BREAKER_OPEN_SECONDS: '0',
      BREAKER_PROBE_SECONDS: '0',
    },
  });
  impatient = (await gateway.startApi({ CHAT_ATTEMPT_TIMEOUT_SECONDS: '1', CHAT_FIRST_BYTE_SECONDS: '1' })).baseUrl;
  project = await gateway.project({ credits: 10_000 });
  const { database } = gateway;
  await database.query('', `update channel set enabled = (adapter = 'openai')`);
  for (const [index, { url }] of upstreams.entries())
    await database.query('', 'update channel set base_url = $2 where name = $1', [
      `sandbox-${'abc'.charAt(index)}-openai`,
      url,
    ]);
  for (const baseUrl of gateway.baseUrls) {
    for (const { chats } of upstreams) chats.length = 0;
    await eventually(async () => {
      await ask({ baseUrl });
      return upstreams.some(({ chats }) => chats.length > 0);
    });
  }
});
afterAll(async () => {
  await gateway?.stop();
  await Promise.allSettled((upstreams ?? []).map((upstream) => upstream.die()));
});
afterEach(async () => {
  for (const upstream of upstreams) upstream.serve();
  expect(await gateway.verifyLedger()).toMatchObject({ ok: true });
  expect((await accountOf(gateway.database, project.projectId)).reserved).toBe(0);
});

const ask = ({ baseUrl = gateway.baseUrl } = {}): Promise<Answer> =>
  chat(gateway, project.apiKey, 'hello', { fields: tenCredits, baseUrl });
const serve = (how: (response: ServerResponse) => void): void => {
  for (const upstream of upstreams) upstream.serve((_request, response) => how(response));
};
const type = { 'content-type': 'application/json' };

/** Writes the piece at an interval until the connection closes. */
function pour(response: ServerResponse, piece: string | Buffer, everyMs: number): void {
  const timer = setInterval(() => response.write(piece), everyMs);
  response.once('close', () => clearInterval(timer));
  response.on('error', () => undefined);
}

/** Writes without an end, as fast as the client reads. */
function flood(response: ServerResponse): void {
  const piece = Buffer.alloc(256_000, ' ');
  const more = (): void => {
    while (!response.destroyed && response.write(piece));
  };
  response.on('drain', more);
  response.on('error', () => undefined);
  more();
}

const bomb = gzipSync(Buffer.alloc(200_000_000, ' '), { level: 1 });

describe('a misbehaving upstream', () => {
  it.each<[string, (response: ServerResponse) => void, string, string[]]>([
    [
      'sends its answer byte by byte',
      (response) => pour(response.writeHead(200, type), ' ', 50),
      '504 upstream_timeout',
      ['interrupted', 'interrupted'],
    ],
    [
      'never ends its headers',
      (response) => {
        response.socket?.write('HTTP/1.1 200 OK\r\n');
        const drip = setInterval(() => response.socket?.write('x-a: b\r\n'), 50);
        response.socket?.once('close', () => clearInterval(drip));
      },
      '504 upstream_timeout',
      ['interrupted', 'interrupted'],
    ],
    [
      'resets the connection before its answer',
      (response) => void response.socket?.destroy(),
      '504 upstream_timeout',
      ['interrupted', 'interrupted'],
    ],
    [
      'resets the connection within its answer',
      (response) => {
        response.writeHead(200, { ...type, 'content-length': 500 });
        response.write('{"choices":', () => setTimeout(() => response.destroy(), 20));
      },
      '502 upstream_error',
      ['unreadable', 'unreadable', 'unreadable'],
    ],
    [
      'answers with an HTML page',
      (response) => void response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Welcome</h1>'),
      '502 upstream_error',
      ['unreadable', 'unreadable', 'unreadable'],
    ],
  ])(
    'that %s costs nothing, and the next channel is tried as far as allowed',
    async (_case, how, verdict, errorClasses) => {
      serve(how);
      const isSilent = verdict === '504 upstream_timeout';
      const answer = await ask(isSilent ? { baseUrl: impatient } : {});
      expect(verdictOf(answer)).toBe(verdict);
      const attempts = await attemptsOf(gateway.database, requestIdOf(answer));
      expect(attempts.map(({ errorClass }) => errorClass)).toEqual(errorClasses);
      expect(await chatFacts(gateway, requestIdOf(answer))).toMatchObject({ state: 'refunded', settledAmount: null });
      expect(await entriesOf(gateway.database, requestIdOf(answer))).toEqual({ refund: 1 });
    },
  );

  it('is followed by the next channel, and the chat is charged once', async () => {
    serve((response) => pour(response.writeHead(200, type), ' ', 50));
    upstreams[2]?.serve();
    upstreams[1]?.serve((_request, response) => void response.writeHead(200, type).end('{"choices": []}'));
    const { name, baseUrl } = await gateway.startApi({ CHAT_ATTEMPT_TIMEOUT_SECONDS: '6' });
    const answer = await ask({ baseUrl });
    await gateway.kill(name, 'SIGTERM');
    expect(verdictOf(answer)).toBe('200');
    expect(await entriesOf(gateway.database, requestIdOf(answer))).toEqual({ settle: 1 });
    expect((await attemptsOf(gateway.database, requestIdOf(answer))).map(({ outcome }) => outcome)).toEqual([
      'transient',
      'transient',
      'ok',
    ]);
  });

  it.each<[string, unknown, number, boolean]>([
    ['no usage', undefined, 1, true],
    ['a negative usage', { prompt_tokens: -5_000, completion_tokens: -1, total_tokens: -5_001 }, 1, false],
    ['a usage without numbers', { prompt_tokens: 'many', completion_tokens: null }, 1, true],
    ['a usage above the hold', { prompt_tokens: 90_000, completion_tokens: 10_000, total_tokens: 100_000 }, 10, false],
    ['a usage above what any model has', { prompt_tokens: 1e9, completion_tokens: 1e9, total_tokens: 2e9 }, 1, true],
  ])(
    'that reports %s is charged once, with at least one credit and at most the hold',
    async (_case, usage, credits, estimated) => {
      serve((response) => void response.writeHead(200, type).end(JSON.stringify({ ...completion, usage })));
      const answer = await ask();
      expect(verdictOf(answer)).toBe('200');
      expect(await chatFacts(gateway, requestIdOf(answer))).toMatchObject({
        state: 'settled',
        settledAmount: credits,
        usageEstimated: estimated,
      });
      expect(await entriesOf(gateway.database, requestIdOf(answer))).toEqual({ settle: 1 });
    },
  );
});

describe('the memory of the API server', () => {
  it('stays flat while upstreams send endless answers or gzip bombs', async () => {
    const rss = async (): Promise<number> => {
      const status = await readFile(`/proc/${gateway.pids()['api-1']}/status`, 'utf8');
      return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1_000;
    };
    const growth = { max: 0 };
    const before = await rss();
    const watch = setInterval(
      () =>
        void rss().then(
          (now) => (growth.max = Math.max(growth.max, now - before)),
          () => undefined,
        ),
      20,
    );
    try {
      serve((response) => flood(response.writeHead(200, type)));
      for (let turn = 0; turn < 6; turn++)
        expect(countVerdicts(await all(2, () => ask()))).toEqual({ '502 upstream_error': 2 });
      serve((response) => void response.writeHead(200, { ...type, 'content-encoding': 'gzip' }).end(bomb));
      expect(countVerdicts(await all(20, () => ask()))).toEqual({ '502 upstream_error': 20 });
    } finally {
      clearInterval(watch);
    }
    // Less than one of the twenty bombs unpacks to. What is freed late on a busy machine is part of it.
    expect(growth.max).toBeLessThan(200);
    serve((response) => void response.writeHead(200, type).end(JSON.stringify(completion)));
    expect(verdictOf(await ask())).toBe('200');
  });
});
