import Koa from 'koa';
import { Agent } from 'undici';

/** A minimal gateway: Koa and undici, without parsing. Prints its URL. */
const [upstream = ''] = process.argv.slice(2);
const agent = new Agent({ connections: 512, pipelining: 1 });

const app = new Koa();
app.use(async (ctx) => {
  const answer = await agent.request({
    origin: upstream,
    path: '/v1/chat/completions',
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer bench' },
    body: ctx.req,
  });
  ctx.status = answer.statusCode;
  ctx.type = 'application/json';
  ctx.body = answer.body;
});
const server = app.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (address === null || typeof address !== 'object') throw new Error('no port');
  process.stdout.write(`http://127.0.0.1:${address.port}\n`);
});
process.stdin.on('end', () => process.exit(0)).resume();
