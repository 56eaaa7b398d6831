import { spawn } from 'node:child_process';
import { createConnection } from 'node:net';
import { join } from 'node:path';
import { eventually } from '../support/eventually.ts';
import { projectFolder } from '../support/program.ts';

/** Starts Caddy with a Caddyfile below `deploy` and waits until its port takes connections. Resolves to what stops it. */
export async function startCaddy(
  caddy: string,
  { file, env, port }: { file: string; env: Record<string, string>; port: number },
): Promise<() => Promise<void>> {
  const child = spawn(caddy, ['run', '--adapter', 'caddyfile', '--config', join(projectFolder, 'deploy', file)], {
    env: { ...env, PROXY_PORT: String(port), PATH: process.env['PATH'] ?? '', HOME: '/tmp' },
    stdio: 'ignore',
  });
  const exited = new Promise<void>((resolve) => child.once('close', () => resolve()));
  await eventually(() => takesConnections(port), { what: 'Caddy to listen' });
  return async () => {
    child.kill('SIGKILL');
    await exited;
  };
}

const takesConnections = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = createConnection(port, '127.0.0.1');
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
