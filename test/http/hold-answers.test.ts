import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { connect, type Socket } from 'node:net';
import { scopes } from '../../src/domain/projects/scope.ts';
import type { AppMiddleware } from '../../src/http/context.ts';
import type { Route } from '../../src/http/route.ts';
import { goodKey, openKey, startFrame, until, type Frame } from './support.ts';

const otherKey = goodKey.replace('Good', 'Fine');
/** More than the kernel keeps for a connection. */
const bytes = 8_000_000;

const large: AppMiddleware = (ctx) => {
  ctx.set('content-type', 'text/plain');
  ctx.body = ctx.path === '/text' ? 'x'.repeat(bytes) : Buffer.alloc(bytes, 'x');
  return Promise.resolve();
};
const open = { dialect: 'openai', body: 'none', handler: large } as const;
const routes: Route[] = [
  { ...open, method: 'GET', path: '/text', auth: 'none' },
  { ...open, method: 'GET', path: '/bytes', auth: 'api_key', scopes },
  { ...open, method: 'POST', path: '/bytes', auth: 'api_key', scopes },
];

let frame: Frame;
const sockets: Socket[] = [];
beforeEach(async () => {
  const projectOf = new Map([
    [goodKey, 'prj_1'],
    [otherKey, 'prj_2'],
  ]);
  const authenticate = (secret: string) => {
    const projectId = projectOf.get(secret);
    return Promise.resolve(projectId === undefined ? null : { ...openKey, projectId });
  };
  frame = await startFrame({ routes, deps: { authenticate } });
});
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await frame.close({ drainSeconds: 0 });
});

/** Sends a request on each of so many connections that read no more than the head of the answer, and returns the statuses. */
async function unread(count: number, path: string, { method = 'GET', key = goodKey } = {}): Promise<string[]> {
  const { hostname, port } = new URL(frame.url);
  const statuses: string[] = [];
  for (let index = 0; index < count; index += 1) {
    const socket = connect(Number(port), hostname);
    sockets.push(socket);
    socket.on('error', () => undefined);
    socket.once('data', (data: Buffer) => {
      statuses.push(data.toString('latin1', 9, 12));
      socket.pause();
    });
    socket.write(`${method} ${path} HTTP/1.1\r\nHost: a\r\nx-api-key: ${key}\r\n\r\n`);
  }
  await until(() => statuses.length === count);
  return statuses.sort();
}

describe('large answers that wait for their readers', () => {
  it.each(['/text', '/bytes'])(
    'are, of GET %s, as many of one reader as leave a quarter of 64 MB free, and 64 MB together',
    async (path) => {
      const statuses = await unread(12, path);
      expect(statuses.filter((status) => status === '200')).toHaveLength(7);
      expect(statuses.filter((status) => status === '503')).toHaveLength(5);
      // What is left is for others.
      expect(await unread(2, '/bytes', { key: otherKey })).toEqual(['200', '503']);
    },
  );

  it('leave their memory when the connection closes', async () => {
    await unread(8, '/bytes');
    for (const socket of sockets.splice(0)) socket.destroy();
    await until(() => frame.lines.filter(({ complete }) => complete === false).length === 7);
    expect(await unread(1, '/bytes')).toEqual(['200']);
  });

  it('are sent to another method than GET even beyond the bound, because what they tell has been done', async () => {
    expect(await unread(10, '/bytes', { method: 'POST' })).toEqual(Array.from({ length: 10 }, () => '200'));
    expect(await unread(1, '/bytes')).toEqual(['503']);
  });

  it('are refused without the headers of their body', async () => {
    await unread(8, '/bytes');
    const refused = await fetch(`${frame.url}/bytes`, { headers: { 'x-api-key': goodKey } });
    expect([refused.status, refused.headers.get('content-type'), refused.headers.get('retry-after')]).toEqual([
      503,
      'application/json; charset=utf-8',
      '2',
    ]);
    expect(await refused.json()).toMatchObject({ error: { code: 'overloaded' } });
  });
});
