import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { families } from './families.ts';
import { sendStream } from './chat-stream.ts';
import { createHits } from './hits.ts';
import { createInbox } from './inbox.ts';
import { createProviderJobs } from './provider-jobs.ts';
import { createOddForms } from './create-odd-forms.ts';
import { numberMark, oddForms } from './odd-table.ts';
import { createScripting } from './script.ts';
import { json, type FamilyCall, type Reply, type SandboxState, type WireFault } from './family.ts';

export interface Sandbox {
  /** `http://host:port`, without a trailing slash. */
  url: string;
  /** Closes every connection immediately. */
  close(): Promise<void>;
}

export interface SandboxOptions {
  port?: number;
  host?: string;
  models?: SandboxState['models'];
}

/**
 * A real HTTP upstream for development and tests. `/{channel}/{family}/…` speaks the wire format of that family, scripted by words
 * in the prompt (`script.ts`). `/_sandbox/hits` lists the received calls, `/_sandbox/odd` the odd forms, `/_sandbox/inbox/NAME` receives callbacks. Port 0 means
 * a free port. `models` returns the names that the model list of a family has. Rejects if the port is taken.
 */
export async function createSandbox({
  port = 0,
  host = '127.0.0.1',
  models = () => Promise.resolve([]),
}: SandboxOptions = {}): Promise<Sandbox> {
  const hits = createHits();
  const inbox = createInbox();
  const odd = createOddForms();
  const state: SandboxState = { hits, providerJobs: createProviderJobs(), scripting: createScripting(), models };

  const answer = async (request: IncomingMessage): Promise<Reply> => {
    const url = new URL(request.url ?? '/', 'http://sandbox');
    const { method = 'GET', headers } = request;
    const body = await readBody(request);
    if (body === null) return json(413, { detail: 'body too large' });
    const names = url.pathname.split('/').slice(1).map(decoded);
    const [first = '', second = ''] = names;
    if (first === '_sandbox') {
      if (second === 'odd')
        return json(
          200,
          oddForms.map(({ form, families: of, types, ends, about }) => ({ form, families: of, types, ends, about })),
        );
      if (second === 'hits') return json(200, hits.list(url.searchParams));
      if (second === 'inbox') return inbox.answer(names.slice(2), url.searchParams, { method, headers, body });
    }
    const family = Object.hasOwn(families, second) ? families[second] : undefined;
    if (!family) return json(404, { error: 'not_found', families: Object.keys(families) });
    const path = odd.plainPath(`/${url.pathname.split('/').slice(3).join('/')}`);
    const baseUrl = `http://${headers.host ?? `${host}:${port}`}/${encodeURIComponent(first)}/${second}`;
    const call: FamilyCall = {
      ...state,
      channel: first,
      family: second,
      method,
      path,
      search: url.searchParams,
      headers,
      body,
      baseUrl,
    };
    return odd.apply(call, await family(call));
  };

  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, (request, response) => {
    // Many tests close the connection early on purpose; that is not an error of the sandbox.
    answer(request).then(
      (reply) => send(response, reply),
      () => response.destroy(),
    );
  });
  server.listen(port, host);
  await once(server, 'listening');
  const address = server.address();
  const boundPort = address !== null && typeof address === 'object' ? address.port : port;
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${boundPort}`,
    close() {
      const closed = server[Symbol.asyncDispose]();
      server.closeAllConnections();
      return closed;
    },
  };
}

/** As long as a gateway's. A client whose process was busy while a shorter one passed would send a request on a connection that is closed. */
const KEEP_ALIVE_MS = 75_000;

const markedNumber = new RegExp(`"${numberMark}(\\d+)"`, 'g');

/** Inputs arrive as data URIs: a few 10 MB pictures in base64. */
const bodyBytesMax = 96_000_000;

async function readBody(request: IncomingMessage): Promise<string | null> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > bodyBytesMax) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

const decoded = (segment: string): string => {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
};

function send(response: ServerResponse, reply: Reply): void {
  switch (reply.kind) {
    case 'json': {
      const bytes = Buffer.from(JSON.stringify(reply.json).replaceAll(markedNumber, '$1'));
      const headers = { 'content-type': 'application/json', 'content-length': bytes.length, ...reply.headers };
      response.writeHead(reply.status, headers).end(bytes);
      return;
    }
    case 'bytes':
      response.writeHead(200, { 'content-type': reply.type, 'content-length': reply.bytes.length });
      if (!reply.cut) response.end(reply.bytes);
      else response.write(reply.bytes.subarray(0, reply.bytes.length / 2), () => response.destroy());
      return;
    case 'stream':
      sendStream(response, reply);
      return;
    case 'fault':
      wireFaults[reply.fault](response);
      return;
    case 'later': {
      const timer = setTimeout(
        () => send(response, typeof reply.reply === 'function' ? reply.reply() : reply.reply),
        reply.ms,
      );
      response.once('close', () => clearTimeout(timer));
      return;
    }
  }
}

/** The failures of the connection, the same for every family. */
const wireFaults: Record<WireFault, (response: ServerResponse) => void> = {
  forbidden: (response) => void response.writeHead(403, { 'content-type': 'text/html' }).end('<h1>403 Forbidden</h1>'),
  hang: (response) => {
    // Longer than any caller's timeout, but bounded.
    const timer = setTimeout(() => response.destroy(), hangMs);
    response.once('close', () => clearTimeout(timer));
  },
  stall: (response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).write('{"id":"');
    wireFaults.hang(response);
  },
  reset: ({ socket }) => void socket?.resetAndDestroy(),
  malformed: (response) =>
    void response
      .writeHead(200, { 'content-type': 'text/html' })
      .end('<!doctype html><html><body><h1>Welcome</h1></body></html>'),
  empty: (response) => void response.writeHead(200, { 'content-type': 'application/json', 'content-length': 0 }).end(),
  huge: (response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    const piece = Buffer.alloc(65_536, 'x');
    let pieces = 0;
    const pour = (): void => {
      while (!response.destroyed && pieces < hugePiecesMax) {
        pieces += 1;
        if (!response.write(pieces === 1 ? '{"request_id":"' : piece)) return;
      }
      response.destroy();
    };
    response.on('drain', pour);
    pour();
  },
};
const hangMs = 15 * 60_000;
/** Two gigabytes: more than any reader with a limit accepts. */
const hugePiecesMax = 32_768;
