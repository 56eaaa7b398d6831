import { createServer } from 'node:http';
import { serve } from './serve.ts';

/** An OpenAI-compatible provider that answers every chat immediately with the same body. Prints its URL. */
const answer = JSON.stringify({
  id: 'chatcmpl-bench',
  object: 'chat.completion',
  created: 1_700_000_000,
  model: 'bench',
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content: 'A toll gate hums, credits fall like plum blossoms into a tin box.' },
      finish_reason: 'stop',
    },
  ],
  usage: { prompt_tokens: 24, completion_tokens: 18, total_tokens: 42 },
});
const headers = { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(answer)) };

const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
  request.resume();
  request.on('end', () => response.writeHead(200, headers).end(answer));
});
serve(server);
