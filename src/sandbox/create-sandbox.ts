import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { families } from './families.ts';
import { createHits } from './hits.ts';
import { createInbox } from './inbox.ts';
import { createMediaJobs } from './media-jobs.ts';
import { createScripting } from './script.ts';
import type { FamilyParts, Reply, WireFault } from './family.ts';

export interface Sandbox {
  /** `http://host:port`, without a trailing slash. */
  url: string;
  /** Closes every connection immediately. */
  close(): Promise<void>;
}

/**
 * A real HTTP upstream for development and tests. `/{channel}/{family}/…` speaks the wire format of that family, scripted by words
 * in the prompt (`script.ts`). `/_sandbox/hits` lists the received calls, `/_sandbox/inbox/NAME` receives callbacks. Port 0 means
 * a free port. Rejects if the port is taken.
 */
export async function createSandbox({ port = 0, host = '127.0.0.1' } = {}): Promise<Sandbox> {
  const hits = createHits();
  const inbox = createInbox();
  const parts: FamilyParts = { hits, jobs: createMediaJobs(), scripting: createScripting() };

  const answer = async (request: IncomingMessage): Promise<Reply> => {
    const url = new URL(request.url ?? '/', 'http://sandbox');
    const method = request.method ?? 'GET';
    const body = await readBody(request);
    if (body === null) return { kind: 'json', status: 413, json: { detail: 'body too large' } };
    const names = url.pathname.split('/').slice(1).map(decoded);
    const [first = '', second = ''] = names;
    if (first === '_sandbox') {
      if (second === 'hits') return { kind: 'json', status: 200, json: hits.list(url.searchParams) };
      if (second === 'inbox') return inbox.answer(names.slice(2), { method, url, headers: request.headers, body });
    }
    const family = Object.hasOwn(families, second) ? families[second] : undefined;
    if (!family) return { kind: 'json', status: 404, json: { error: 'not_found', families: Object.keys(families) } };
    return family(parts, {
      channel: first,
      method,
      path: `/${url.pathname.split('/').slice(3).join('/')}`,
      headers: request.headers,
      body,
      baseUrl: `http://${request.headers.host ?? `${host}:${port}`}/${encodeURIComponent(first)}/${second}`,
    });
  };

  const server = createServer((request, response) => {
    // Many tests close the connection early on purpose; that is not an error of the sandbox.
    answer(request).then(
      (reply) => send(response, reply),
      () => response.destroy(),
    );
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
  const address = server.address();
  const boundPort = address !== null && typeof address === 'object' ? address.port : port;
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${boundPort}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

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
      const text = JSON.stringify(reply.json);
      response.writeHead(reply.status, {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(text),
        ...reply.headers,
      });
      response.end(text);
      return;
    }
    case 'bytes':
      response.writeHead(200, { 'content-type': reply.type, 'content-length': reply.bytes.length });
      response.end(reply.bytes);
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
  hang: (response) => {
    // Longer than any caller's timeout, but bounded.
    const timer = setTimeout(() => response.destroy(), hangMs);
    response.once('close', () => clearTimeout(timer));
  },
  reset: (response) => {
    response.socket?.resetAndDestroy();
  },
  malformed: (response) => {
    response.writeHead(200, { 'content-type': 'text/html' });
    response.end('<!doctype html><html><body><h1>Welcome</h1></body></html>');
  },
  empty: (response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': 0 });
    response.end();
  },
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
