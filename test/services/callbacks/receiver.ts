import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';
import { z } from 'zod';
import { Task } from '../../support/api-client.ts';

/** One received POST. */
export interface Call {
  method: string;
  headers: Record<string, string>;
  /** The raw body, because the signature covers its bytes. */
  body: string;
}

/** Answers the `n`-th call (from 1) of one path. */
export type Behaviour = (response: ServerResponse, n: number, request: IncomingMessage) => void;

export interface Receiver {
  /** A URL of this receiver whose calls `behaviour` answers. */
  at(name: string, behaviour?: Behaviour): string;
  calls(name: string): Call[];
  /** The number of all connections so far, with or without a request. */
  connections(): number;
  close(): Promise<void>;
}

export const takeIt: Behaviour = (response) => void response.writeHead(204).end();
export const answer =
  (status: number, headers: Record<string, string> = {}): Behaviour =>
  (response) =>
    void response.writeHead(status, headers).end('{}');
/** Uses the behaviours in order, one per call, and the last one for all later calls. */
export const inTurn =
  (...behaviours: Behaviour[]): Behaviour =>
  (response, n, request) =>
    behaviours[Math.min(n, behaviours.length) - 1]?.(response, n, request);

/** A receiver on loopback that records every call. With `tls` it uses the given, untrusted certificate. */
export async function startReceiver({ tls }: { tls?: { cert: string; key: string } } = {}): Promise<Receiver> {
  const behaviours = new Map<string, Behaviour>();
  const received = new Map<string, Call[]>();
  let connections = 0;
  const handle = (request: IncomingMessage, response: ServerResponse): void => {
    const chunks: Buffer[] = [];
    // The gateway may be killed at any moment, which breaks the connection.
    request.on('error', () => undefined);
    response.on('error', () => undefined);
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const name = (request.url ?? '/').slice(1);
      const calls = received.get(name) ?? [];
      received.set(name, calls);
      const headers = Object.fromEntries(Object.entries(request.headers).map(([key, value]) => [key, String(value)]));
      calls.push({ method: request.method ?? '', headers, body: Buffer.concat(chunks).toString('utf8') });
      (behaviours.get(name) ?? takeIt)(response, calls.length, request);
    });
  };
  const server = tls ? createHttpsServer(tls, handle) : createHttpServer(handle);
  server.on('connection', () => (connections += 1));
  server.on('tlsClientError', () => undefined);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    at(name, behaviour = takeIt) {
      behaviours.set(name, behaviour);
      return `${tls ? 'https' : 'http'}://127.0.0.1:${port}/${name}`;
    },
    calls: (name) => received.get(name) ?? [],
    connections: () => connections,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** The body of a callback. A missing field or one of another type fails the test that parses it. */
export const Event = z.strictObject({
  id: z.string(),
  type: z.enum(['task.succeeded', 'task.failed', 'task.canceled']),
  timestamp: z.iso.datetime(),
  data: Task,
});
export type Event = z.infer<typeof Event>;

/** Verifies one call as a receiver would, with the Standard Webhooks library on the raw body. Throws the library's errors. */
export const verified = (call: Call, secret: string): Event =>
  Event.parse(new Webhook(secret).verify(call.body, call.headers));

/** Settings that shorten the retry schedule from hours to seconds. */
export const quickCallbacks: Record<string, string> = {
  CALLBACK_LADDER_SECONDS: '0.3,0.3,0.3,0.3,0.3,0.3,0.3',
  CALLBACK_TIMEOUT_SECONDS: '8',
  CALLBACK_LEASE_SECONDS: '12',
  CALLBACK_LATE_SECONDS: '1',
  CALLBACK_KICK_SECONDS: '2',
  SWEEP_INTERVAL_SECONDS: '1',
};
