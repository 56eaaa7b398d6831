import { createServer, connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { mediaRoutes, type Answer } from '../support/api-client.ts';
import type { Gateway } from '../support/gateway.ts';

/** A port of loopback that leads to another one, until it is away. */
export interface Gate {
  port: number;
  /** Breaks every connection, and accepts none until `open`. */
  shut(): Promise<void>;
  open(): Promise<void>;
}

/** Opens a port that leads to `target`, so that a server can be away without losing what it has in memory. */
export async function openGate(target: number): Promise<Gate> {
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(target, '127.0.0.1');
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket
        .on('error', () => undefined)
        .on('close', () => {
          sockets.delete(socket);
          client.destroy();
          upstream.destroy();
        });
    }
    client.pipe(upstream).pipe(client);
  });
  const listen = (port: number): Promise<void> =>
    new Promise((resolve, reject) => server.once('error', reject).listen(port, '127.0.0.1', resolve));
  await listen(0);
  const address = server.address();
  const port = address !== null && typeof address === 'object' ? address.port : 0;
  return {
    port,
    shut: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
    open: () => listen(port),
  };
}

/** What the clients of a drill were answered. */
export interface Traffic {
  /** The status of each create and each chat, 0 for a broken connection. */
  creates: number[];
  chats: { atMs: number; status: number }[];
  taskIds: string[];
  stop(): Promise<void>;
}

/** Sends five chats and one create a second, as clients do that send nothing again. */
export function startTraffic(gateway: Gateway, apiKey: string, name: string): Traffic {
  const traffic: Omit<Traffic, 'stop'> = { creates: [], chats: [], taskIds: [] };
  const underway = new Set<Promise<void>>();
  let isStopped = false;
  const track = (work: Promise<void>): void => {
    underway.add(work);
    void work.finally(() => underway.delete(work));
  };
  const statusOf = (answer: Answer | null): number => answer?.status ?? 0;
  const create = async (n: number): Promise<void> => {
    const headers = { 'idempotency-key': `${name}-${n}` };
    const body = { model: 'aurora-image-1', prompt: `${name} ${n} [[latency=2000]]` };
    const answer = await gateway.create(apiKey, mediaRoutes.image, body, { headers }).catch(() => null);
    traffic.creates.push(statusOf(answer));
    if (answer?.status === 202) traffic.taskIds.push(answer.taskId);
  };
  const chat = async (): Promise<void> => {
    const atMs = performance.now();
    const body = { model: 'mistral-small-4', max_tokens: 20, messages: [{ role: 'user', content: name }] };
    const answer = await gateway.create(apiKey, '/api/v1/chat/completions', body).catch(() => null);
    traffic.chats.push({ atMs, status: statusOf(answer) });
  };
  const run = async (): Promise<void> => {
    for (let n = 0; !isStopped; n++) {
      track(chat());
      if (n % 5 === 0) track(create(n / 5));
      await sleep(200);
    }
  };
  const running = run();
  return {
    ...traffic,
    async stop() {
      isStopped = true;
      await running;
      while (underway.size > 0) await Promise.all(underway);
    },
  };
}
