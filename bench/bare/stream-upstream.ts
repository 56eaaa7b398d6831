import { createServer, type ServerResponse } from 'node:http';
import { serve } from './serve.ts';

/**
 * An OpenAI-compatible provider that streams every chat: as many tokens as it allows, at the rate of the first argument, the first
 * one immediately. Prints its URL.
 */
const perSecond = Number(process.argv[2]);
const periodMs = 1_000 / perSecond;

const common = { id: 'chatcmpl-bench', object: 'chat.completion.chunk', created: 1_700_000_000, model: 'bench' };
const event = (fields: object): string =>
  `data: ${JSON.stringify({ ...common, system_fingerprint: 'fp', ...fields })}\n\n`;
const choice = (delta: object, reason: string | null): object => ({
  choices: [{ index: 0, delta, logprobs: null, finish_reason: reason }],
});
const words = ['the', 'toll', 'gate', 'is', 'open', 'and', 'all', 'have', 'paid'];
const pieces = words.map((word) => event({ ...choice({ content: ` ${word}` }, null), usage: null }));

interface Running {
  response: ServerResponse;
  sent: number;
  tokens: number;
  dueAt: number;
}
/** In the order of their next token, because all have the same rate. */
const running: Running[] = [];

const endOf = ({ tokens }: Running): string => {
  const usage = { prompt_tokens: 24, completion_tokens: tokens, total_tokens: tokens + 24 };
  return `${event({ ...choice({}, 'stop'), usage: null })}${event({ choices: [], usage })}data: [DONE]\n\n`;
};

function sendNext(stream: Running): void {
  const { response } = stream;
  if (response.destroyed) return;
  if (stream.sent === stream.tokens) return void response.end(endOf(stream));
  response.write(pieces[stream.sent % pieces.length]);
  stream.sent += 1;
  stream.dueAt += periodMs;
  running.push(stream);
}

setInterval(() => {
  const now = performance.now();
  let count = 0;
  while ((running[count]?.dueAt ?? Infinity) <= now) count += 1;
  for (const stream of running.splice(0, count)) sendNext(stream);
}, 1);

const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const body = JSON.parse(Buffer.concat(chunks).toString()) as Record<string, number | undefined>;
    // The gateway sends the name that reasoning models take.
    const tokens = body['max_tokens'] ?? body['max_completion_tokens'] ?? 0;
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
    sendNext({ response, sent: 0, tokens, dueAt: performance.now() });
  });
});
serve(server);
