import Koa from 'koa';
import pg from 'pg';
import { serve } from './serve.ts';

/** A minimal read of a task: Koa and one prepared statement by the id in the path. It checks nothing. Prints its URL. */
const [databaseUrl = '', poolMax = '10'] = process.argv.slice(2);
const pool = new pg.Pool({ connectionString: databaseUrl, max: Number(poolMax) });
const text = `select id as task_id, 'task' as object, type, model_id as model, status, progress, created_at, started_at, completed_at,
    expires_at, input, output, error_code as error, credits_quoted, credits_reserved, credits_charged, credits_refunded, attempts,
    request_id
  from task where id = $1`;

const app = new Koa();
app.use(async (ctx) => {
  const { rows } = await pool.query<object>({
    name: 'read',
    text,
    values: [ctx.path.slice(ctx.path.lastIndexOf('/') + 1)],
  });
  ctx.body = rows[0];
});
serve(app);
