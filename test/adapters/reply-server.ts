import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';

export interface ReceivedRequest {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
}

export interface CannedReply {
  status: number;
  body?: unknown;
  /** Sent unchanged instead of `body`. */
  text?: string;
  headers?: Record<string, string>;
}

type Answer = CannedReply | ((request: IncomingMessage, response: ServerResponse) => void);

/** A real server that returns prepared answers in turn, repeats the last one, and records the requests. */
export async function createReplyServer() {
  let answers: Answer[] = [];
  const received: ReceivedRequest[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString();
      received.push({ method: request.method ?? '', path: request.url ?? '', headers: request.headers, body });
      const answer = (answers.length > 1 ? answers.shift() : answers[0]) ?? { status: 500 };
      if (typeof answer === 'function') return answer(request, response);
      response.writeHead(answer.status, { 'content-type': 'application/json', ...answer.headers });
      response.end(answer.text ?? (answer.body === undefined ? '' : JSON.stringify(answer.body)));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    url: `http://127.0.0.1:${address.port}`,
    received,
    answer(...next: Answer[]): void {
      answers = next;
      received.length = 0;
    },
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
export type ReplyServer = Awaited<ReturnType<typeof createReplyServer>>;
