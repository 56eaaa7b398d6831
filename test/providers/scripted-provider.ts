import { createServer, type ServerResponse } from 'node:http';
import type { JsonObject } from '../../src/domain/json.ts';
import { objectAt, parsed } from '../dialects/json-at.ts';
import { beginEvents, familyWires, type FamilyName } from '../support/family-wires.ts';

/** A chat that a provider received. */
export interface ReceivedChat {
  family: FamilyName;
  isStream: boolean;
  body: JsonObject;
}

/** One server in the place of the providers of all families. */
export interface ScriptedProvider {
  url: string;
  received: ReceivedChat[];
  /** Answers all later chats so. Without an argument, they succeed. */
  serve(how?: (response: ServerResponse, chat: ReceivedChat) => void): void;
  /** Answers all later free calls so. Without an argument, they succeed. */
  serveFree(how?: (response: ServerResponse) => void): void;
  close(): Promise<void>;
}

export async function startScriptedProvider(): Promise<ScriptedProvider> {
  let serve = answerWell;
  let serveFree = listModels;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const path = request.url ?? '';
      if (request.method === 'GET') return serveFree(response);
      const body = objectAt(parsed(Buffer.concat(chunks).toString()));
      const isStream = body.stream === true || path.includes(':streamGenerateContent');
      const chat = { family: familyOf(path), isStream, body };
      provider.received.push(chat);
      serve(response, chat);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const provider: ScriptedProvider = {
    url: `http://127.0.0.1:${address.port}`,
    received: [],
    serve: (how = answerWell) => {
      serve = how;
    },
    serveFree: (how = listModels) => {
      serveFree = how;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return provider;
}

function familyOf(path: string): FamilyName {
  if (path.includes('/responses')) return 'responses';
  if (path.includes('/messages')) return 'anthropic';
  return path.includes(':') ? 'gemini' : 'openai';
}

const listModels = (response: ServerResponse): void => sendJson(response, 200, { data: [], models: [] });
const usage = { input: 10, output: 5 };

/** A short answer in the words of the family. */
function answerWell(response: ServerResponse, { family, isStream }: ReceivedChat): void {
  const wire = familyWires[family];
  if (!isStream) return sendJson(response, 200, wire.whole('well', 'stop', usage));
  beginEvents(response);
  response.end(wire.open(10) + wire.text('well') + wire.end('stop', usage));
}

export function sendJson(response: ServerResponse, status: number, body: object, headers = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}
