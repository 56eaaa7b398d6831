import { createServer } from 'node:net';

/**
 * Returns the wanted TCP port on `host` if it is free, else a free one; 0 means any. Ports in `avoid` count as taken. The result is
 * added to `avoid`, so that two servers that start together never get the same port.
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

// Below the ephemeral range (Linux from 32768, macOS from 49152). A connection could take a port of that range between this choice and
// the server's start, or while a killed server restarts.
const anyPort = () => 20_000 + Math.floor(Math.random() * 12_000);

function isFree(port: number, host: string): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host, exclusive: true }, () => server.close(() => resolve(true)));
  });
}
