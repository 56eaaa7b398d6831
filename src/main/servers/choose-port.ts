import { createServer } from 'node:net';

/**
 * The wanted TCP port on `host` if it is free, else a free one; 0 means any. Ports in `avoid` count as taken, so that two
 * servers which are started together never get the same one: the answer is added to it.
 */
export async function choosePort(wanted: number, avoid: Set<number>, host = '127.0.0.1'): Promise<number> {
  for (let tries = 0; tries < triesMax; tries++) {
    const port = tries === 0 && wanted !== 0 ? wanted : anyPort();
    if (avoid.has(port) || !(await isFree(port, host)) || avoid.has(port)) continue;
    avoid.add(port);
    return port;
  }
  throw new Error(`No free port was found on ${host}.`);
}

const triesMax = 100;

// Below the range from which systems give out ports by themselves (Linux from 32768, macOS from 49152): a port from that range can
// become some connection's own end between our choice and the server's start, or while a killed server is started again.
const anyPort = () => 20_000 + Math.floor(Math.random() * 12_000);

function isFree(port: number, host: string): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host, exclusive: true }, () => server.close(() => resolve(true)));
  });
}
