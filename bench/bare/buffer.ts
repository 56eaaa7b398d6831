import Koa from 'koa';
import { serve } from './serve.ts';

/** Koa and the gateway's list of models, which it fetches once and serves from memory. Prints its URL. */
const [url = '', apiKey = ''] = process.argv.slice(2);
const answer = await fetch(url, { headers: { authorization: `Bearer ${apiKey}`, 'accept-encoding': 'identity' } });
if (!answer.ok) throw new Error(`the list of models was answered with ${answer.status}`);
const body = Buffer.from(await answer.arrayBuffer());

const app = new Koa();
app.use((ctx) => {
  ctx.type = 'application/json; charset=utf-8';
  ctx.body = body;
});
serve(app);
