import { createServer, request as send, type IncomingMessage, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { gunzipSync, inflateSync } from 'node:zlib';
import type { JsonObject } from '../../src/domain/json.ts';

/** One request of a program, and what the gateway said to it. */
export interface Recorded {
  path: string;
  status: number;
  /** Null if the body is not a JSON object. */
  body: JsonObject | null;
  /** The fields that the gateway left out (`x-tollgate-ignored`). */
  ignored: string[];
}

/** A server between a program and the gateway that passes everything on and keeps the requests. */
export interface Recorder {
  baseUrl: string;
  /** The requests since the call before. */
  take(): Recorded[];
  close(): Promise<void>;
}

/** Starts one on a free port of the loopback address. */
export async function startRecorder(gatewayUrl: string): Promise<Recorder> {
  let kept: Recorded[] = [];
  const server = createServer((request, answer) => {
    void passOn(request, answer, gatewayUrl).then(
      (recorded) => kept.push(recorded),
      () => answer.destroy(),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    baseUrl: `http://127.0.0.1:${port}`,
    take() {
      const taken = kept;
      kept = [];
      return taken;
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function passOn(request: IncomingMessage, answer: ServerResponse, gatewayUrl: string): Promise<Recorded> {
  const { host: _, ...headers } = request.headers;
  const body = await buffer(request);
  const upstream = send(new URL(request.url ?? '/', gatewayUrl), { method: request.method, headers });
  answer.once('close', () => upstream.destroy());
  upstream.end(body);
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    upstream.once('response', resolve);
    upstream.once('error', reject);
  });
  answer.writeHead(response.statusCode ?? 502, response.headers);
  response.pipe(answer);
  return {
    path: (request.url ?? '/').split('?')[0] ?? '/',
    status: response.statusCode ?? 502,
    body: jsonIn(body, request.headers['content-encoding']),
    ignored: String(response.headers['x-tollgate-ignored'] ?? '')
      .split(', ')
      .filter(Boolean),
  };
}

const unpack: Record<string, (packed: Buffer) => Buffer> = { gzip: gunzipSync, deflate: inflateSync };

function jsonIn(body: Buffer, encoding = ''): JsonObject | null {
  try {
    const value: unknown = JSON.parse(String(unpack[encoding]?.(body) ?? body));
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : null;
  } catch {
    return null;
  }
}
