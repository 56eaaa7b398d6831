import { beforeAll, describe, expect, it } from '@jest/globals';
import { networkInterfaces } from 'node:os';
import type { Gateway } from '../support/gateway.ts';

let gateway: Gateway;

/** Tests of the addresses of an API server. Its HOST must be 0.0.0.0 and its ADMIN_HOST 127.0.0.1. */
export const describeAdminListener = (started: () => Gateway): void =>
  describe('the admin listener', () => {
    beforeAll(() => {
      gateway = started();
    });

    it('serves the admin port on ADMIN_HOST only, and the public port on HOST', async () => {
      const { port } = new URL(gateway.baseUrl);
      const adminPort = gateway.env['ADMIN_PORT'] ?? '';
      expect(await statusOf('127.0.0.1', adminPort, '/livez')).toBe(200);
      expect(await statusOf('127.0.0.1', adminPort, '/metrics')).toBe(200);
      expect(await statusOf(elsewhere, adminPort, '/livez')).toBe('refused');
      for (const host of ['127.0.0.1', elsewhere]) {
        expect(await statusOf(host, port, '/api/v1/models')).toBe(401);
        expect(await statusOf(host, port, '/livez')).toBe(404);
      }
    });
  });

/** Another address of this machine. On Linux the whole of 127.0.0.0/8 is one; elsewhere it is the address in the local network. */
const elsewhere =
  process.platform === 'linux'
    ? '127.0.0.2'
    : Object.values(networkInterfaces())
        .flat()
        .find((one) => one?.family === 'IPv4' && !one.internal)?.address;

const statusOf = (host: string | undefined, port: string, path: string): Promise<number | 'refused'> =>
  fetch(`http://${host}:${port}${path}`, { signal: AbortSignal.timeout(10_000) }).then(
    ({ status }) => status,
    () => 'refused',
  );
