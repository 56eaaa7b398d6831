import { connect, createServer, type Socket } from 'node:net';

/** A TCP proxy between the listener for changes and PostgreSQL. */
export interface ListenerProxy {
  url: string;
  /** Resets every connection and refuses new ones, until the returned function is called. */
  cutOff(): () => void;
  /** Forwards nothing more in either direction, as a router that has forgotten the connections, until the returned function is called. */
  swallow(): () => void;
  /** Tells new connections another process id than that of their session, as a pooler does. */
  renameProcesses(on: boolean): void;
  close(): Promise<void>;
}

export async function startListenerProxy(databaseUrl: string): Promise<ListenerProxy> {
  const target = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  let isCutOff = false;
  let isSwallowing = false;
  let isRenaming = false;
  const server = createServer((client) => {
    if (isCutOff) return void client.destroy();
    const upstream = connect({ port: Number(target.port || 5432), host: target.hostname });
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
    client.on('data', (data) => {
      if (!isSwallowing) upstream.write(data);
    });
    upstream.on('data', (data) => {
      if (!isSwallowing) client.write(isRenaming ? renamed(data) : data);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the proxy has no port');
  const own = new URL(databaseUrl);
  own.hostname = '127.0.0.1';
  own.port = String(address.port);
  return {
    url: own.href,
    cutOff() {
      isCutOff = true;
      for (const socket of sockets) socket.destroy();
      return () => void (isCutOff = false);
    },
    swallow() {
      isSwallowing = true;
      return () => void (isSwallowing = false);
    },
    renameProcesses: (on) => void (isRenaming = on),
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  };
}

/** BackendKeyData is `K`, a length of 12 (of up to 264 with longer keys), the process id and the secret. */
function renamed(data: Buffer): Buffer {
  for (let at = 0; at + 5 <= data.length; at += 1 + data.readInt32BE(at + 1)) {
    if (data[at] === 0x4b) data.writeInt32BE(data.readInt32BE(at + 5) + 1, at + 5);
    if (data.readInt32BE(at + 1) < 4) break;
  }
  return data;
}
