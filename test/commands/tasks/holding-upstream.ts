import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A proxy in front of the sandbox that delays answers. */
export interface HoldingUpstream {
  url: string;
  /** Delays the answers to all later calls with this method: POST submits, PUT cancels. */
  hold(method: 'POST' | 'PUT', ms: number): void;
  close(): Promise<void>;
}

export async function startHoldingUpstream(target: string): Promise<HoldingUpstream> {
  const heldMs = new Map<string, number>();
  const server = createServer((incoming, outgoing) => {
    const onward = request(
      `${target}${incoming.url ?? '/'}`,
      { method: incoming.method, headers: incoming.headers, timeout: 10_000 },
      (answer) => {
        const give = (): void => {
          outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
          answer.pipe(outgoing);
        };
        setTimeout(give, heldMs.get(incoming.method ?? '') ?? 0);
      },
    );
    onward.on('error', () => outgoing.destroy());
    incoming.pipe(onward);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    hold: (method, ms) => void heldMs.set(method, ms),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
