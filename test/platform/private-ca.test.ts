import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import { join } from 'node:path';
import { nodeBinary, projectFolder } from '../support/program.ts';

const certificates = join(projectFolder, 'test/support/certificates');
const file = (name: string) => readFileSync(join(certificates, name));

let server: Server;
let arrived: string[] = [];
beforeAll(async () => {
  server = createServer({ cert: file('localhost.pem'), key: file('localhost-key.pem') }, ({ url = '' }, response) => {
    arrived.push(url.split('?')[0] ?? '');
    response.writeHead(404).end();
  });
  server.listen(0, 'localhost');
  await once(server, 'listening');
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

/** What arrives at a server whose certificate a private CA has signed. */
async function arrivedFrom(env: Record<string, string>): Promise<string[]> {
  arrived = [];
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : 0;
  const program = join(projectFolder, 'test/platform/private-ca-program.ts');
  const child = spawn(nodeBinary, [program, `https://localhost:${port}`], {
    env: { PATH: process.env['PATH'], ...env },
    stdio: 'ignore',
  });
  await once(child, 'exit');
  return [...new Set(arrived)];
}

describe('a server whose certificate a private CA has signed', () => {
  it('is reached as a provider, as a bucket and as an identity provider with NODE_EXTRA_CA_CERTS', async () => {
    expect(await arrivedFrom({ NODE_EXTRA_CA_CERTS: join(certificates, 'private-ca.pem') })).toEqual([
      '/provider/models',
      '/bucket/outputs/some.png',
      '/issuer/.well-known/openid-configuration',
    ]);
  });

  it('gets no request without it', async () => {
    expect(await arrivedFrom({})).toEqual([]);
  });
});
