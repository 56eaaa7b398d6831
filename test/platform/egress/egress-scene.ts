import { readFileSync } from 'node:fs';
import { createEgress } from '../../../src/platform/egress/egress.ts';
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { createServer as createHttpServer, type IncomingMessage, type RequestListener } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';

const fixture = (name: string) => readFileSync(new URL(`fixtures/${name}`, import.meta.url), 'utf8');

export const certificate = fixture('receiver-certificate.pem');

/** Long enough that no test ends by it on a slow machine. */
export const limits = { timeoutMs: 60_000, maxBytes: 16_000 };

export const LOOPBACK = { address: '127.0.0.1', family: 4 };

export const closers: (() => Promise<void>)[] = [];

export const loopback = (extra: Partial<Parameters<typeof createEgress>[0]> = {}) =>
  createEgress({ allowCidrs: ['127.0.0.0/8'], callbackPorts: [], ...extra });

export async function listen(server: Server): Promise<number> {
  const open = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    open.add(socket);
    socket.on('error', () => undefined).on('close', () => open.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(async () => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    for (const socket of open) socket.destroy();
    await closed;
  });
  return (server.address() as AddressInfo).port;
}

export const receiver = async (answer: RequestListener) =>
  `http://127.0.0.1:${await listen(createHttpServer(answer))}/`;

export const rawReceiver = async (answer: (socket: Socket) => void) =>
  `http://127.0.0.1:${await listen(createTcpServer(answer))}/`;

export async function tlsReceiver(): Promise<{ port: number; requests: IncomingMessage[] }> {
  const requests: IncomingMessage[] = [];
  const server = createHttpsServer({ cert: certificate, key: fixture('receiver-key.pem') }, (request, response) => {
    requests.push(request);
    response.end('ok');
  });
  server.on('tlsClientError', () => undefined);
  return { port: await listen(server), requests };
}

export async function length(body: AsyncIterable<Buffer>): Promise<number> {
  let total = 0;
  for await (const chunk of body) total += chunk.length;
  return total;
}
