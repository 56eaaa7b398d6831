import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { projectFolder } from '../support/program.ts';

/** A web server with an empty page, and with the built `tollgate-js` as `/tollgate-js/NAME.js`. */
export interface ClientPage {
  origin: string;
  close(): Promise<void>;
}

export async function startClientPage(): Promise<ClientPage> {
  const built = await mkdtemp(join(tmpdir(), 'tollgate-js-'));
  const tsc = join(projectFolder, 'node_modules', 'typescript', 'bin', 'tsc');
  const options = ['-p', join(projectFolder, 'packages', 'tollgate-js'), '--outDir', built];
  await promisify(execFile)(process.execPath, [tsc, ...options]);
  const server = createServer((request, response) => {
    const [, name] = /^\/tollgate-js\/([\w-]+\.js)$/.exec(request.url ?? '') ?? [];
    if (name === undefined) {
      response.setHeader('content-type', 'text/html').end('<!doctype html><title>A page</title>');
      return;
    }
    readFile(join(built, name)).then(
      (script) => response.setHeader('content-type', 'text/javascript').end(script),
      () => response.writeHead(404).end(),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await rm(built, { recursive: true });
    },
  };
}
