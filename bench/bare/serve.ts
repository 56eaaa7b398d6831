import type { Server } from 'node:http';

/** A server, or an app of Koa. */
interface Listener {
  listen(port: number, host: string, onListening: () => void): Server;
}

/** Listens on a free port of loopback and prints the URL. The process ends with its parent, which holds its standard input. */
export function serve(listener: Listener): void {
  const server = listener.listen(0, '127.0.0.1', () => {
    const address = server.address();
    if (address === null || typeof address !== 'object') throw new Error('no port');
    process.stdout.write(`http://127.0.0.1:${address.port}\n`);
  });
  process.stdin.on('end', () => process.exit(0)).resume();
}
