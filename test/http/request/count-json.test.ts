import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createJsonCounter } from '../../../src/http/request/count-json.ts';
import type { AppMiddleware } from '../../../src/http/context.ts';
import { standIn } from '../../support/stand-in.ts';
import { describedAdminRoutes, describedRoutes } from '../openapi/described-routes.ts';
import { goodKey, startFrame, type Frame } from '../support.ts';

/** What the counter says to a text that arrives in pieces of so many bytes. */
function verdict(text: string, pieceBytes = 65_536): string {
  const bytes = Buffer.from(text);
  const count = createJsonCounter(32);
  try {
    for (let start = 0; start < bytes.length; start += pieceBytes) count(bytes.subarray(start, start + pieceBytes));
    return 'passes';
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

const objects = (count: number): object[] => Array.from({ length: count }, () => ({ a: 1 }));
const tooManyObjects = 'The body has more than 10000 objects in its lists.';

describe('the counter of a JSON body', () => {
  it.each([
    ['in one list', { messages: objects(10_001) }],
    ['in many lists', { messages: Array.from({ length: 101 }, () => ({ content: objects(100) })) }],
    ['in lists of lists', { rows: Array.from({ length: 101 }, () => objects(100)) }],
    ['deep in a schema', { tools: [{ parameters: { properties: { a: { anyOf: objects(10_001) } } } }] }],
  ])('refuses 10,001 objects %s', (_where, body) => {
    expect(verdict(JSON.stringify(body))).toBe(tooManyObjects);
  });

  it.each([
    [
      '10,000 messages with one part each',
      { messages: Array.from({ length: 10_000 }, () => ({ content: objects(1) })) },
    ],
    [
      '10,000 messages and 10,000 objects of their own fields',
      { m: Array.from({ length: 10_000 }, () => ({ a: {} })) },
    ],
    ['a schema of 10,001 objects outside of lists', Object.fromEntries(objects(10_001).map((one, at) => [at, one]))],
    ['150,000 numbers', { enum: Array.from({ length: 150_000 }, () => 1) }],
    ['a text of quotes, brackets and backslashes', { text: '"[{},\\\\"'.repeat(50_000), b: '\\' }],
  ])('lets pass %s', (_what, body) => {
    expect(verdict(JSON.stringify(body))).toBe('passes');
  });

  it('refuses more than 200,000 values and more than 32 levels', () => {
    expect(verdict(JSON.stringify({ a: Array.from({ length: 200_001 }, () => 1) }))).toContain('200000 values');
    expect(verdict(`{"a":${'['.repeat(31)}${']'.repeat(31)}}`)).toBe('passes');
    expect(verdict(`{"a":${'['.repeat(32)}`)).toContain('32 levels');
  });

  it('counts the same wherever the body is cut into pieces', () => {
    // Strings around the length from which they are searched by other means, each with an escape at another position.
    const strings = Array.from({ length: 120 }, (_, at) => `${'x'.repeat(at)}\\"]{[,${'\\'.repeat(at % 5)}`);
    const text = (count: number): string => JSON.stringify({ strings, list: objects(count), after: strings });
    for (const pieceBytes of [1, 2, 3, 7, 48, 49, 1_000]) {
      expect(verdict(text(10_000), pieceBytes)).toBe('passes');
      expect(verdict(text(10_001), pieceBytes)).toBe(tooManyObjects);
    }
  });

  it('makes nothing of a text that is no JSON', () => {
    expect(verdict(']]]]}}}}"\\')).toBe('passes');
    expect(verdict('')).toBe('passes');
  });
});

describe('a request whose body has 10,001 objects in its lists', () => {
  const reached: string[] = [];
  const note: AppMiddleware = (ctx) => {
    reached.push(ctx.path);
    ctx.set(standIn, 'true');
    ctx.body = {};
    return Promise.resolve();
  };
  /** Every route that reads JSON, of clients and of operators, with a handler that only notes that it was reached. */
  const withBody = [...describedRoutes(), ...describedAdminRoutes()]
    .filter(({ body }) => body.startsWith('json'))
    .map((route) => ({ ...route, beforeAuth: [], beforeBody: [], handler: note }));
  let frame: Frame;
  beforeAll(async () => {
    const owner = { principalId: 'admin_1', name: 'a', role: 'owner' };
    const adminAccess = { byToken: () => Promise.resolve(owner), bySession: () => Promise.resolve(null) };
    frame = await startFrame({ routes: withBody, deps: { adminAccess } as never });
  });
  afterAll(() => frame.close({ drainSeconds: 0 }));

  it.each(withBody.map(({ method, path, auth }) => ({ method, path, auth })))(
    'is refused by $method $path before its handler, and one of 10,000 is not',
    async ({ method, path, auth }) => {
      const address = path.replace(/(?<!\\):\w+/g, 'x').replaceAll('\\', '');
      const send = async (count: number): Promise<Response> =>
        fetch(frame.url + address, {
          method,
          headers: {
            authorization: `Bearer ${auth === 'admin' ? 'adm_x' : goodKey}`,
            'content-type': 'application/json',
          },
          body: JSON.stringify({ list: objects(count) }),
        });
      reached.length = 0;
      const refused = await send(10_001);
      expect([refused.status, await refused.text()]).toEqual([400, expect.stringContaining(tooManyObjects)]);
      expect(reached).toEqual([]);
      expect((await send(10_000)).status).toBe(200);
    },
  );
});
