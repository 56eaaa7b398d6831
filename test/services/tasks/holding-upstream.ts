import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A proxy in front of the sandbox that can hold answers back. */
export interface HoldingUpstream {
  url: string;
  /** The number of calls received so far. */
  calls(): number;
  /** Holds back the answers to all later calls with this method, POST for submits and PUT for cancels, until the returned function is called. */
  hold(method: 'POST' | 'PUT'): () => void;
  close(): Promise<void>;
}

export async function startHoldingUpstream(target: string): Promise<HoldingUpstream> {
  const held = new Map<string, Promise<void>>();
  let calls = 0;
  const server = createServer((incoming, outgoing) => {
    calls += 1;
    const onward = request(
      `${target}${incoming.url ?? '/'}`,
      { method: incoming.method, headers: incoming.headers },
      (answer) => {
        const give = (): void => {
          outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
          answer.pipe(outgoing);
        };
        void (held.get(incoming.method ?? '') ?? Promise.resolve()).then(give);
      },
    );
    onward.on('error', () => outgoing.destroy());
    incoming.pipe(onward);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    calls: () => calls,
    hold(method) {
      const { promise, resolve } = Promise.withResolvers<void>();
      held.set(method, promise);
      return () => {
        held.delete(method);
        resolve();
      };
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
