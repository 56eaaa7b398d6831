import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/** A TCP proxy in front of PostgreSQL that counts the statements of its clients. */
export interface CountingProxy {
  /** The same database through the proxy. */
  through(url: string): string;
  /** How often each statement ran since the last call, by its name; a statement without a name by its text. */
  take(): Map<string, number>;
  close(): Promise<void>;
}

/** Listens on loopback and forwards all bytes to PostgreSQL on `port` of loopback. */
export async function startCountingProxy(port: number): Promise<CountingProxy> {
  let counts = new Map<string, number>();
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect({ port, host: '127.0.0.1', noDelay: true });
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
    const read = readStatements((name) => counts.set(name, (counts.get(name) ?? 0) + 1));
    client.on('data', read).pipe(upstream);
    upstream.pipe(client);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the proxy has no port');
  return {
    through(url) {
      const proxied = new URL(url);
      proxied.port = String(address.port);
      return proxied.href;
    },
    take() {
      const taken = counts;
      counts = new Map();
      return taken;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Reads the messages of one client. `ran` receives each statement that the client runs. */
function readStatements(ran: (name: string) => void): (bytes: Buffer) => void {
  let unread = Buffer.alloc(0);
  let started = false;
  return (bytes) => {
    unread = Buffer.concat([unread, bytes]);
    for (;;) {
      // Every message but the first begins with one byte for its kind. The length counts itself.
      const head = started ? 1 : 0;
      if (unread.length < head + 4) return;
      const end = head + unread.readUInt32BE(head);
      if (unread.length < end) return;
      const kind = started ? String.fromCharCode(unread[0] ?? 0) : '';
      const strings = unread.toString('utf8', head + 4, end).split('\0');
      // A Bind names its portal and then its statement.
      if (kind === 'B') ran(strings[1] ?? '');
      if (kind === 'Q') ran(strings[0] ?? '');
      started = true;
      unread = unread.subarray(end);
    }
  };
}
