import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { png } from '../support/pictures.ts';

export interface ReceivedCallback {
  headers: Record<string, string>;
  body: string;
}

/** Replicate as the database of a dump knows it, and the receiver of its callbacks. */
export interface DumpedProvider {
  url: string;
  /** New jobs. */
  submits(): number;
  /** Of the calls to the provider. */
  authorizations(): string[];
  callbacks(): ReceivedCallback[];
  close(): Promise<void>;
}

/** Starts a provider that knows every job, and has finished it with one picture. */
export async function startDumpedProvider(): Promise<DumpedProvider> {
  const picture = await png();
  const callbacks: ReceivedCallback[] = [];
  const authorizations: string[] = [];
  let submits = 0;
  const answer = (response: ServerResponse, status: number, body: object): void => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  };
  // A gateway that stands still for longer would send on a connection that is closed.
  const server = createServer({ keepAliveTimeout: 600_000 }, (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method, url: path = '/', headers } = request;
      if (path === '/hook') {
        callbacks.push({ headers: textsOf(headers), body: Buffer.concat(chunks).toString('utf8') });
        response.writeHead(204).end();
        return;
      }
      if (path.startsWith('/pictures/')) {
        response.writeHead(200, { 'content-type': 'image/png' }).end(picture);
        return;
      }
      authorizations.push(headers.authorization ?? '');
      const isSubmit = method === 'POST' && path.startsWith('/models/');
      if (isSubmit) submits += 1;
      const id = isSubmit ? `job-new-${submits}` : (path.split('/')[2] ?? '');
      answer(response, isSubmit ? 201 : 200, {
        id,
        status: 'succeeded',
        error: null,
        output: [`${address}/pictures/${id}.png`],
      });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: address,
    submits: () => submits,
    authorizations: () => authorizations,
    callbacks: () => callbacks,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

const textsOf = (headers: IncomingHttpHeaders): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
