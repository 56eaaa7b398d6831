import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';

type Serve = (request: IncomingMessage, response: ServerResponse) => void;

/** A provider of OpenAI's wire format that a test lets die, recover and misbehave. */
export interface ChatUpstream {
  /** Base URL of its channel. */
  url: string;
  /** When each chat came in, by `performance.now()`. */
  chats: number[];
  /** Free calls that came in. */
  probes: number;
  /** What chats are answered from now on; a good answer when absent. */
  serve(how?: Serve): void;
  /** Nobody listens any more, and what is connected is cut. */
  die(): Promise<void>;
  /** Listens again, where it did. */
  revive(): Promise<void>;
}

export async function startChatUpstream(): Promise<ChatUpstream> {
  let serve: Serve = goodAnswer();
  const answer: Serve = (request, response) => {
    request.resume();
    request.on('end', () => {
      if (request.method === 'GET') {
        upstream.probes += 1;
        return reply(response, 200, { object: 'list', data: [{ id: 'gpt-5-mini', object: 'model' }] });
      }
      upstream.chats.push(performance.now());
      serve(request, response);
    });
  };
  const listen = (port: number): Promise<Server> =>
    new Promise((resolve, reject) => {
      const server = createServer(answer);
      server.once('error', reject);
      server.listen(port, '127.0.0.1', () => resolve(server));
    });
  let server = await listen(0);
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const { port } = address;
  const upstream: ChatUpstream = {
    url: `http://127.0.0.1:${port}/v1`,
    chats: [],
    probes: 0,
    serve(how = goodAnswer()) {
      serve = how;
    },
    die: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
    async revive() {
      server = await listen(port);
    },
  };
  return upstream;
}

/** A chat completion, after `latencyMs`; a call that costs a credit or two. */
export const goodAnswer =
  (latencyMs = 20): Serve =>
  (_request, response) =>
    void setTimeout(() => reply(response, 200, completion), latencyMs);

/** The provider's own error, in its own words. */
export const ownError =
  (status: number, code: string, headers: Record<string, string> = {}): Serve =>
  (_request, response) =>
    reply(response, status, { error: { message: 'no', type: 'error', param: null, code } }, headers);

export const completion = {
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1_780_000_000,
  model: 'gpt-5-mini',
  choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'Good.' } }],
  usage: { prompt_tokens: 10, completion_tokens: 10, total_tokens: 20 },
};

function reply(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}
