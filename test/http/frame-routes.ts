import { type AppMiddleware, keyOf } from '../../src/http/context.ts';
import { standIn } from '../support/stand-in.ts';
import { queryReader, queryNumber } from '../../src/http/request/query.ts';
import type { Route } from '../../src/http/route.ts';
import { scopes } from '../../src/domain/projects/scope.ts';
import { GatewayError } from '../../src/domain/errors.ts';
import { goodKey } from './support.ts';

const echo: AppMiddleware = (ctx) => {
  ctx.body = { got: ctx.request.body ?? null, key: keyOf(ctx).keyId };
  return Promise.resolve();
};

const fine: AppMiddleware = (ctx) => {
  ctx.set(standIn, 'true');
  ctx.body = { ok: true, model: ctx.params['model'] ?? null };
  return Promise.resolve();
};

export const throwing =
  (make: () => Error): AppMiddleware =>
  () =>
    Promise.reject(make());

export const withCode = (code: string, message = 'secret SELECT 1'): Error =>
  Object.assign(new Error(message), { code });

const limits = { limit: queryNumber('The most rows.', { max: 100 }) };

const readLimits = queryReader(limits);

export const limited: Route['handler'] = (ctx) => {
  ctx.body = { limit: readLimits(ctx).limit ?? 50 };
  return Promise.resolve();
};

export const client = { auth: 'api_key', scopes, dialect: 'openai' } as const;

export const routes: Route[] = [
  { ...client, method: 'GET', path: '/api/v1/models', body: 'none', handler: fine },
  { ...client, method: 'GET', path: '/api/v1/models/:model', body: 'none', handler: fine },
  { ...client, method: 'POST', path: '/echo', body: 'json', handler: echo },
  { ...client, method: 'GET', path: '/list', query: limits, body: 'none', handler: limited },
  { ...client, method: 'POST', path: '/legacy', dialect: 'legacy', body: 'json', handler: echo },
  {
    ...client,
    method: 'POST',
    path: '/api/v1beta/models/:model',
    dialect: 'gemini',
    body: 'json',
    handler: echo,
  },
  { method: 'POST', path: '/job', auth: 'job_token', dialect: 'openai', body: 'none', handler: fine },
  ...Object.entries({
    '/throws/bug': () => new Error('the password is hunter2'),
    '/throws/pg': () => new Error('wrapped', { cause: withCode('57P01') }),
    '/throws/refused': () => new AggregateError([withCode('ECONNREFUSED')]),
    '/throws/pool': () => new Error('timeout exceeded when trying to connect'),
    '/throws/unique': () => withCode('23505', "insert into task values ('canary prompt')"),
    '/throws/credits': () => new GatewayError('insufficient_credits'),
    '/throws/rate': () => new GatewayError('rate_limit_exceeded', { retryAfterSeconds: 6.2 }),
  }).map(([path, make]): Route => ({ ...client, method: 'GET', path, body: 'none', handler: throwing(make) })),
  {
    ...client,
    method: 'GET',
    path: '/bigint',
    body: 'none',
    handler: (ctx) => {
      ctx.body = { credits: 1n };
      return Promise.resolve();
    },
  },
];

export const auth = { authorization: `Bearer ${goodKey}` };

export const json = { ...auth, 'content-type': 'application/json' };

export const codeOf = async (answer: Response): Promise<unknown> => {
  const body = (await answer.json()) as { error: { code: unknown } };
  return body.error.code;
};
