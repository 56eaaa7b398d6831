import Koa from 'koa';
import { Pool } from 'undici';
import { serve } from './serve.ts';

/**
 * A minimal gateway: Koa and undici, which hands buffers from one to the other, or with `stream` the body as it comes. It parses nothing.
 * Prints its URL.
 */
const [upstream = '', kind] = process.argv.slice(2);
// More than the benchmarks open.
const pool = new Pool(upstream, { connections: 2_048, pipelining: 1, keepAliveTimeout: 60_000 });
const headers = { 'content-type': 'application/json', authorization: 'Bearer bench' };

const app = new Koa();
app.use(async (ctx) => {
  const chunks: Buffer[] = [];
  for await (const chunk of ctx.req) chunks.push(chunk as Buffer);
  const body = Buffer.concat(chunks);
  const answer = await pool.request({ path: '/v1/chat/completions', method: 'POST', headers, body });
  ctx.status = answer.statusCode;
  if (kind === 'stream') {
    ctx.type = 'text/event-stream; charset=utf-8';
    ctx.body = answer.body;
  } else {
    ctx.type = 'application/json';
    ctx.body = Buffer.from(await answer.body.arrayBuffer());
  }
});
serve(app);
