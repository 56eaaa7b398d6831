import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { chooseOwnPort } from './own-port.ts';

/** Answers a request, whose body is text. */
type Serve = (request: IncomingMessage, response: ServerResponse, body: string) => void;

/** A provider with OpenAI's wire format that a test can stop, restart and make misbehave. */
export interface ChatUpstream {
  /** The base URL for a channel. */
  url: string;
  /** The time of each received chat, by `performance.now()`. */
  chats: number[];
  /** The number of free calls received. */
  probes: number;
  /** Sets the answer to all later chats. Without an argument, chats succeed. */
  serve(how?: Serve): void;
  /** Sets the answer to all later free calls. Without an argument, they succeed. */
  serveProbes(how?: Serve): void;
  /** Stops listening and closes all connections. */
  die(): Promise<void>;
  /** Listens again on the same port. */
  revive(): Promise<void>;
}

export async function startChatUpstream(): Promise<ChatUpstream> {
  let serve: Serve = goodAnswer();
  let serveProbe: Serve = modelList;
  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString();
      if (request.method === 'GET') {
        upstream.probes += 1;
        return serveProbe(request, response, body);
      }
      upstream.chats.push(performance.now());
      serve(request, response, body);
    });
  };
  // Port 0 would be one of the system's, which a connection may take while this server is away.
  const port = await chooseOwnPort();
  const listen = (): Promise<Server> =>
    new Promise((resolve, reject) => {
      const server = createServer(answer);
      server.once('error', reject);
      server.listen(port, '127.0.0.1', () => resolve(server));
    });
  let server = await listen();
  const upstream: ChatUpstream = {
    url: `http://127.0.0.1:${port}/v1`,
    chats: [],
    probes: 0,
    serve(how = goodAnswer()) {
      serve = how;
    },
    serveProbes(how = modelList) {
      serveProbe = how;
    },
    die: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
    async revive() {
      server = await listen();
    },
  };
  return upstream;
}

/** Answers with a chat completion after `latencyMs`. It costs one or two credits. */
export const goodAnswer =
  (latencyMs = 20) =>
  (_request: IncomingMessage, response: ServerResponse): void =>
    void setTimeout(() => reply(response, 200, completion), latencyMs);

/** Answers with an error in the provider's format. */
export const ownError =
  (status: number, code: string, headers: Record<string, string> = {}): Serve =>
  (_request, response) =>
    reply(response, status, { error: { message: 'no', type: 'error', param: null, code } }, headers);

const modelList: Serve = (_request, response) =>
  reply(response, 200, { object: 'list', data: [{ id: 'gpt-5-mini', object: 'model' }] });

export const completion = {
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1_780_000_000,
  model: 'gpt-5-mini',
  choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'Good.' } }],
  usage: { prompt_tokens: 10, completion_tokens: 10, total_tokens: 20 },
};

export function reply(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}
