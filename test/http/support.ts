import { once } from 'node:events';
import { connect } from 'node:net';
import { pino } from 'pino';
import { testConfig } from '../support/test-config.ts';
import { createApp, type LaterRoutes } from '../../src/http/app.ts';
import type { AuthenticatedKey } from '../../src/domain/projects/authenticated-key.ts';
import { scopes } from '../../src/domain/projects/scope.ts';
import type { HttpDeps } from '../../src/http/http-deps.ts';
import type { Route } from '../../src/http/route.ts';
import { startHttpServer, type HttpServer } from '../../src/http/server/server.ts';

export const goodKey = 'sk-GoodGoodGoodGoodGoodGoodGoodGoodGoodGood000000';
export const scheduledJobToken = 'job-token-0123456789-0123456789-0123456789';

export interface Frame extends HttpServer {
  /** Every log line so far, parsed. */
  lines: Record<string, unknown>[];
  logText(): string;
  /** The API keys that `authenticate` was called with. */
  lookups: string[];
}

interface FrameOptions {
  routes: readonly Route[];
  later?: LaterRoutes;
  /** Environment variables. */
  settings?: Record<string, string>;
  deps?: Partial<HttpDeps>;
}

/** A key of one project without any limit. */
export const openKey: AuthenticatedKey = {
  keyId: 'key_1',
  projectId: 'prj_1',
  scopes,
  ipRanges: null,
  models: null,
  rpm: null,
  inFlightMax: null,
  plan: null,
  traceContent: null,
  hasLostChats: false,
};

/** The HTTP server with all its middleware on a free loopback port, with one valid key and no database. */
export async function startFrame({ routes, later, settings, deps }: FrameOptions): Promise<Frame> {
  const lines: Record<string, unknown>[] = [];
  let text = '';
  const logger = pino(
    { level: 'debug' },
    {
      write: (line: string) => {
        text += line;
        lines.push(JSON.parse(line) as Record<string, unknown>);
      },
    },
  );
  const lookups: string[] = [];
  const all: HttpDeps = {
    config: testConfig({ ...baseSettings, ...settings }),
    logger,
    authenticate: (secret) => {
      lookups.push(secret);
      return Promise.resolve(secret === goodKey ? openKey : null);
    },
    isReady: () => Promise.resolve(true),
    rateLimiter: {
      hit: () => Promise.resolve({ admitted: true, remaining: 1, resetSeconds: 61, retryAfterSeconds: null }),
    },
    signedFiles: { ownerOf: () => Promise.resolve(null), openSigned: () => Promise.resolve(null) },
    ...deps,
  };
  const server = await startHttpServer(createApp(all, routes, { later }), {
    host: '127.0.0.1',
    port: 0,
    config: all.config.http,
  });
  return { ...server, lines, lookups, logText: () => text };
}

const secret32 = Buffer.alloc(32, 7).toString('base64');

const baseSettings = {
  DATABASE_URL: 'postgresql://unused',
  KEY_PEPPERS: `p1:${secret32}`,
  MASTER_KEYS: `k1:${secret32}`,
  INTERNAL_JOB_TOKENS: `${'x'.repeat(40)},${scheduledJobToken}`,
  // A busy machine may need more than production allows before a list has its turn.
  LIST_TURN_MS: '60000',
};

/** Sends raw bytes and returns everything the server answers until it closes the connection, or for two minutes. */
export async function sendRaw(url: string, ...chunks: (string | Buffer)[]): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  let answer = '';
  socket.setEncoding('latin1').on('data', (data: string) => (answer += data));
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  for (const chunk of chunks) socket.write(chunk, 'latin1');
  const timer = setTimeout(() => socket.destroy(), 120_000);
  // `once` of node:events would throw if the server closes while this side still sends, which is no matter once the answer is there.
  await new Promise<void>((resolve) => socket.once('close', () => resolve()));
  clearTimeout(timer);
  return answer;
}

/** The JSON body of a raw response. */
export const bodyOf = (answer: string): unknown => JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4));

/** Waits until the condition holds. Throws after two minutes. */
export async function until(isTrue: () => boolean): Promise<void> {
  for (let tries = 0; tries < 12_000 && !isTrue(); tries += 1) await new Promise((resolve) => setTimeout(resolve, 10));
  if (!isTrue()) throw new Error('The condition did not hold within two minutes');
}
