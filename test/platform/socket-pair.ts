import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** Both ends of a connection on loopback. */
export interface SocketPair {
  client: Socket;
  peer: Socket;
  close: () => void;
}

/** Opens a connection between two sockets of this process. */
export async function openSocketPair(): Promise<SocketPair> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const [peer] = (await once(server, 'connection')) as [Socket];
  return {
    client,
    peer,
    close() {
      client.destroy();
      server.close();
    },
  };
}
