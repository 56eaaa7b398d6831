import { connect, createServer, type Socket } from 'node:net';

/** A TCP proxy between a client and a server that can discard an answer and cut the client off. */
export interface CuttingProxy {
  port: number;
  /** Discards the next answer of the server and resets the connection to the client. */
  cutNextAnswer(): void;
  /**
   * Discards the answer to the next statement of this name, then resets every connection and refuses new ones. The returned
   * function accepts connections again.
   */
  cutOffAfter(statement: string): () => void;
  /** The same before the server gets the next statement of this name. */
  cutOffBefore(statement: string): () => void;
  /** Resets every connection and refuses new ones, until the returned function is called. */
  cutOff(): () => void;
  /** The connections that were refused so far. */
  refusals(): number;
  /** Resets every connection. A statement that runs goes on, as the server notices the reset only when it answers. */
  cutAll(): void;
  cuts(): number;
  close(): Promise<void>;
}

/** Listens on loopback and forwards all bytes to `port` on loopback. */
export async function startCuttingProxy(port: number): Promise<CuttingProxy> {
  const sockets = new Set<Socket>();
  let armed = false;
  let cuts = 0;
  let lastStatement: string | null = null;
  let neverSent: string | null = null;
  let refusals = 0;
  let isCutOff = false;
  const cutEveryone = (): void => {
    cuts += 1;
    isCutOff = true;
    for (const socket of sockets) socket.destroy();
  };
  const resume = (): void => {
    [lastStatement, neverSent, isCutOff] = [null, null, false];
  };
  const server = createServer((client) => {
    if (isCutOff) {
      refusals += 1;
      return void client.destroy();
    }
    const upstream = connect({ port, host: '127.0.0.1' });
    keepTogether(sockets, [client, upstream]);
    let isLast = false;
    client.on('data', (bytes) => {
      isLast ||= lastStatement !== null && bytes.includes(lastStatement);
      if (neverSent === null || !bytes.includes(neverSent)) return void upstream.write(bytes);
      neverSent = null;
      cutEveryone();
    });
    upstream.on('data', (answer) => {
      if (isLast) {
        // The server has answered, so the statement is committed.
        lastStatement = null;
        return cutEveryone();
      }
      if (!armed) return void client.write(answer);
      // The server has answered, so the statement is committed.
      armed = false;
      cuts += 1;
      client.resetAndDestroy();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the proxy has no port');
  return {
    port: address.port,
    cutNextAnswer: () => void (armed = true),
    cutOffAfter(statement) {
      lastStatement = statement;
      return resume;
    },
    cutOffBefore(statement) {
      neverSent = statement;
      return resume;
    },
    cutOff() {
      cutEveryone();
      return resume;
    },
    refusals: () => refusals,
    cutAll() {
      cuts += 1;
      for (const socket of sockets) socket.destroy();
    },
    cuts: () => cuts,
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  };
}

/** Ends both sockets with the first, and keeps them in the set until then. */
function keepTogether(sockets: Set<Socket>, pair: readonly Socket[]): void {
  for (const socket of pair) {
    sockets.add(socket);
    socket
      .on('error', () => undefined)
      .on('close', () => {
        sockets.delete(socket);
        for (const each of pair) each.destroy();
      });
  }
}
