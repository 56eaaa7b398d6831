import { readFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { createAdminToken } from '../../src/commands/admin/create-admin-token.ts';
import { loadConfig } from '../../src/config/load-config.ts';
import type { Gateway, TestProject } from '../support/gateway.ts';

/** A request whose answer may be large. */
export interface LargeAnswer {
  path: string;
  method?: 'POST';
  headers?: Record<string, string>;
  body?: object;
}

const taskInputBytes = 80_000;

/** Gives a project tasks whose inputs are as large as a model takes them. */
export async function makeLargeTasks(gateway: Gateway, { apiKey, projectId }: TestProject, count: number) {
  const requests = Array.from({ length: count }, (_, index) =>
    index % 2 === 0
      ? gateway.accept(apiKey, '/api/v1/images/generate', { model: 'aurora-image-1', prompt: 'a red fox' })
      : gateway.accept(apiKey, '/api/v1/video/generate', { model: 'kling-2.5-turbo', prompt: 'a dancer' }),
  );
  const ids = await Promise.all(requests);
  for (const id of ids) await gateway.poll(apiKey, id);
  await gateway.database.query(
    'test-enlarge-tasks',
    `update task t set input = input || jsonb_build_object('prompt', (
       select string_agg(md5(t.id || n), '') from generate_series(1, $2::int) n)) where project_id = $1`,
    [projectId, Math.ceil(taskInputBytes / 32)],
  );
  return ids;
}

/** A request to every route whose answer may be large, but for streams, which bound themselves. */
export async function largeAnswersOf(
  gateway: Gateway,
  { apiKey }: TestProject,
  [taskId = '']: readonly string[],
): Promise<LargeAnswer[]> {
  const key = { authorization: `Bearer ${apiKey}` };
  const deps = { db: gateway.database, config: loadConfig(gateway.env) };
  const { token } = await createAdminToken(deps, { name: 'unread', role: 'owner', expiresAt: null, actor: 'test' });
  const admin = { authorization: `Bearer ${token}` };
  const [script = ''] = (await readdir('console/dist/assets')).filter((name) => /^index-.*\.js$/.test(name));
  const asset = { path: `/console/assets/${script}` };
  const scalar = { path: '/docs/assets/scalar.js' };
  return [
    scalar,
    { ...scalar, headers: { 'accept-encoding': 'gzip' } },
    asset,
    { ...asset, headers: { 'accept-encoding': 'gzip' } },
    { path: '/api/v1/openapi.json' },
    { path: '/api/v1/openapi.json', headers: { 'accept-encoding': 'gzip' } },
    { path: '/api/admin/v1/openapi.json' },
    { path: '/llms.txt' },
    { path: '/docs/errors' },
    ...['/api/v1/models', '/v1/models', '/v1beta/models'].map((path) => ({ path, headers: key })),
    { path: '/api/v1/tasks?limit=100', headers: key },
    { path: '/v1/videos?limit=100', headers: key },
    { path: `/api/v1/tasks/${taskId}`, headers: key },
    { path: '/api/v1/webhooks/events?wait=0', headers: key },
    { path: '/api/v1/ledger?limit=100', headers: key },
    { path: '/api/v1/ledger?limit=100', headers: { ...key, accept: 'text/csv' } },
    { path: '/api/v1/usage?group_by=day,model,key', headers: key },
    { path: '/api/admin/v1/tasks?limit=10000', headers: admin },
    { path: '/api/admin/v1/catalog', headers: admin },
    {
      ...{ path: '/v1/images/generations', method: 'POST', headers: key },
      body: { model: 'aurora-image-1', prompt: 'a red fox', response_format: 'b64_json' },
    },
    {
      ...{ path: '/api/v1/chat/completions', method: 'POST', headers: key },
      body: { model: 'gpt-5-mini', messages: [{ role: 'user', content: 'Hello [[tokens=8000]]' }], max_tokens: 8_192 },
    },
  ];
}

/** Connections that send requests and read no answer. */
export class UnreadConnections {
  readonly #gateway: Gateway;
  readonly #sockets: Socket[] = [];
  readonly #watch: NodeJS.Timeout;
  #peakBytes = 0;

  constructor(gateway: Gateway) {
    this.#gateway = gateway;
    this.#watch = setInterval(() => this.#measure(), 100);
    this.#measure();
  }

  /** Opens so many connections, each of which pipelines the request so many times. */
  open({ path, method, headers = {}, body }: LargeAnswer, connections: number, pipelined: number): void {
    const { hostname, port } = new URL(this.#gateway.baseUrl);
    const text = body === undefined ? '' : JSON.stringify(body);
    const all = {
      host: 'a',
      ...headers,
      ...(body && { 'content-type': 'application/json', 'content-length': text.length }),
    };
    const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
    const request = `${method ?? 'GET'} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${text}`;
    for (let index = 0; index < connections; index += 1) {
      const socket = connect(Number(port), hostname);
      socket.on('error', () => undefined).pause();
      socket.write(request.repeat(pipelined));
      this.#sockets.push(socket);
    }
  }

  /** The most memory of the API server since the first connection. */
  get peakBytes(): number {
    return this.#peakBytes;
  }

  close(): void {
    clearInterval(this.#watch);
    for (const socket of this.#sockets) socket.destroy();
  }

  #measure(): void {
    const status = readFileSync(`/proc/${this.#gateway.pids()['api-1']}/status`, 'utf8');
    this.#peakBytes = Math.max(this.#peakBytes, 1_024 * Number(/VmRSS:\s*(\d+) kB/.exec(status)?.[1]));
  }
}
