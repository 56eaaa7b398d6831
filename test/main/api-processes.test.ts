import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { Agent, get } from 'node:http';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { chooseOwnPort } from '../support/own-port.ts';
import { eventually } from '../support/eventually.ts';
import { metricValue } from '../support/metric-value.ts';
import { startGateway, type Gateway } from '../support/gateway.ts';

const processes = 2;
let gateway: Gateway;
let adminPort: number;
beforeAll(async () => {
  adminPort = await chooseOwnPort();
  const env = {
    API_PROCESSES: String(processes),
    HOST: '0.0.0.0',
    ADMIN_HOST: '127.0.0.1',
    ADMIN_PORT: String(adminPort),
    LOG_LEVEL: 'info',
  };
  gateway = await startGateway({ env, workers: 0, sandbox: false });
});
afterAll(() => gateway?.stop());

// First, because the last test below ends the API server.
describe('the admin listener', () => {
  it('serves the admin port on ADMIN_HOST only, and the public port on HOST', async () => {
    const { port } = new URL(gateway.baseUrl);
    const adminPort = gateway.env['ADMIN_PORT'] ?? '';
    expect(await statusOf('127.0.0.1', adminPort, '/livez')).toBe(200);
    expect(await statusOf('127.0.0.1', adminPort, '/metrics')).toBe(200);
    expect(await statusOf(elsewhere, adminPort, '/livez')).toBe('refused');
    for (const host of ['127.0.0.1', elsewhere]) {
      expect(await statusOf(host, port, '/api/v1/models')).toBe(401);
      expect(await statusOf(host, port, '/livez')).toBe(404);
    }
  });
});

/** Another address of this machine. On Linux the whole of 127.0.0.0/8 is one; elsewhere it is the address in the local network. */
const elsewhere =
  process.platform === 'linux'
    ? '127.0.0.2'
    : Object.values(networkInterfaces())
        .flat()
        .find((one) => one?.family === 'IPv4' && !one.internal)?.address;

const statusOf = (host: string | undefined, port: string, path: string): Promise<number | 'refused'> =>
  fetch(`http://${host}:${port}${path}`, { signal: AbortSignal.timeout(60_000) }).then(
    ({ status }) => status,
    () => 'refused',
  );

const logLines = (): { msg: string; pid: number; path?: string }[] =>
  readFileSync(join(gateway.logFolder, 'api-1.log'), 'utf8')
    .split('\n')
    // The last one may be half written.
    .slice(0, -1)
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as ReturnType<typeof logLines>[number]);
/** The processes that have become ready, in this order. */
const readyPids = (): number[] =>
  logLines()
    .filter(({ msg }) => msg === 'the API server is ready')
    .map(({ pid }) => pid);
/** Resolves once so many processes have become ready since the first. On a slow machine one takes as long as a whole gateway. */
const untilReady = (count: number): Promise<unknown> =>
  eventually(() => Promise.resolve(readyPids().length === count), { secondsMax: 200, what: 'a process that is ready' });
const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};
const readMetrics = (agent: Agent): Promise<void> =>
  new Promise((resolve, reject) => {
    get({ port: adminPort, path: '/metrics', agent }, (answer) => answer.on('end', resolve).resume()).on(
      'error',
      reject,
    );
  });
/** On a connection of its own, so that any of the processes may get it. */
const listModels = (apiKey: string): Promise<number> =>
  fetch(`${gateway.baseUrl}/api/v1/models`, {
    headers: { authorization: `Bearer ${apiKey}`, connection: 'close' },
  }).then(
    ({ status }) => status,
    () => 0,
  );

describe('an API server of two processes', () => {
  it('shares one port, and each process answers', async () => {
    const { apiKey } = await gateway.project();
    const answering = (): Set<number> =>
      new Set(
        logLines()
          .filter(({ path }) => path === '/api/v1/models')
          .map(({ pid }) => pid),
      );
    await eventually(async () => {
      expect(await listModels(apiKey)).toBe(200);
      return answering().size === processes;
    });
    expect([...answering()].sort()).toEqual(readyPids().sort());
  });

  it('counts the requests of a key exactly over both', async () => {
    const { apiKey } = await gateway.project({ rpm: 20 });
    const body = { model: 'no-such-model', messages: [{ role: 'user', content: 'hello' }] };
    const statuses = await Promise.all(
      Array.from({ length: 50 }, async () => (await gateway.create(apiKey, '/api/v1/chat/completions', body)).status),
    );
    expect(statuses.filter((status) => status !== 429)).toHaveLength(20);
  });

  it('shows the metrics of both on the admin port, whichever of them answers', async () => {
    const page = () => fetch(`http://127.0.0.1:${adminPort}/metrics`).then((answer) => answer.text());
    const requests =
      'tollgate_http_request_duration_seconds_count{route="/api/v1/chat/completions",method="POST",status="429"}';
    // A page leaves out a process that does not answer within a second, as on a busy machine.
    await eventually(
      async () => {
        const pages = await Promise.all(Array.from({ length: 4 }, page));
        return pages.every((text) => metricValue(text, requests) === 30);
      },
      { what: 'four pages with the requests of both', secondsMax: 200 },
    );
  });

  it('keeps answering while a killed process is started again', async () => {
    const { apiKey } = await gateway.project();
    const [first = 0] = readyPids();
    process.kill(first, 'SIGKILL');
    await eventually(() => Promise.resolve(!isAlive(first)));
    expect(await listModels(apiKey)).toBe(200);
    await untilReady(processes + 1);
    expect(isAlive(readyPids().at(-1) ?? 0)).toBe(true);
  });

  it('outlives a process that was killed after it had asked for the metrics of both', async () => {
    // Connections that both processes have, because the first process takes no new ones while it stands still.
    const agent = new Agent({ keepAlive: true, maxSockets: 2 * processes });
    const pages = () => Promise.all(Array.from({ length: 2 * processes }, () => readMetrics(agent)));
    await pages();
    const before = readyPids().length;
    const [asking = 0] = readyPids().filter(isAlive);
    await gateway.kill('api-1', 'SIGSTOP');
    try {
      // Each process has asked the first one before it answers with its own.
      await pages();
      process.kill(asking, 'SIGKILL');
      // Its connections end with it, after that to the first process.
      await eventually(() => Promise.resolve(Object.values(agent.freeSockets).flat().length < 2 * processes));
    } finally {
      await gateway.kill('api-1', 'SIGCONT');
      agent.destroy();
    }
    await untilReady(before + 1);
    expect(readyPids().filter(isAlive)).toHaveLength(processes);
  });

  it('ends all its processes on SIGTERM', async () => {
    const pids = readyPids().filter(isAlive);
    expect(pids).toHaveLength(processes);
    await gateway.kill('api-1', 'SIGTERM');
    expect(pids.filter(isAlive)).toEqual([]);
  });
});
