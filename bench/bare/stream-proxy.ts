import Koa from 'koa';
import { Pool } from 'undici';

/** A minimal gateway for streams: Koa and undici, whose body it hands to Koa as it comes. It parses nothing. Prints its URL. */
const [upstream = ''] = process.argv.slice(2);
const pool = new Pool(upstream, { connections: 2_048, pipelining: 1, keepAliveTimeout: 60_000 });
const headers = { 'content-type': 'application/json', authorization: 'Bearer bench' };

const app = new Koa();
app.use(async (ctx) => {
  const chunks: Buffer[] = [];
  for await (const chunk of ctx.req) chunks.push(chunk as Buffer);
  const body = Buffer.concat(chunks);
  const answer = await pool.request({ path: '/v1/chat/completions', method: 'POST', headers, body });
  ctx.status = answer.statusCode;
  ctx.type = 'text/event-stream; charset=utf-8';
  ctx.body = answer.body;
});
const server = app.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (address === null || typeof address !== 'object') throw new Error('no port');
  process.stdout.write(`http://127.0.0.1:${address.port}\n`);
});
process.stdin.on('end', () => process.exit(0)).resume();
