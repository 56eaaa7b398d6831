import { request } from 'node:http';
import { text as readText } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { bodyFields } from '../../../src/http/admin/action-route.ts';
import { operationName } from '../../../src/http/openapi/describe-routes.ts';
import type { Action, ActionRoute } from '../../../src/admin/define-action.ts';
import { allActions } from '../../../src/admin/table.ts';
import { describedAdminRoutes } from '../openapi/described-routes.ts';
import { startAdminHome, type AdminHome } from './admin-home.ts';

let home: AdminHome;
let token: string;
beforeAll(async () => {
  home = await startAdminHome();
  token = (await home.token('owner')).token;
});
afterAll(() => home?.drop());

interface Hostile {
  what: string;
  /** As bytes of a URL. */
  inUrl?: string;
  /** As the inside of a JSON string. */
  inJson?: string | Buffer;
  /** Also sent inside of lists and objects. */
  isTypical?: true;
}

const ten = 'x'.repeat(10_000);
/** What no text of an operator has. */
const texts: readonly Hostile[] = [
  ...[0x00, 0x07, 0x08, 0x1b, 0x1f, 0x7f, 0x85, 0x9f].map((code) => ({
    what: `U+${code.toString(16).padStart(4, '0')}`,
    inUrl: `a${encodeURIComponent(String.fromCharCode(code))}b`,
    inJson: `a\\u${code.toString(16).padStart(4, '0')}b`,
  })),
  { what: 'NUL alone', inUrl: '%00', inJson: '\\u0000', isTypical: true },
  { what: 'a line end', inUrl: 'a%0ab' },
  { what: 'an unpaired surrogate', inUrl: 'a%ed%a0%80b', inJson: 'a\\ud800b', isTypical: true },
  { what: 'a surrogate of the wrong order', inJson: '\\udc00\\ud800' },
  { what: 'bytes that are not UTF-8', inUrl: 'a%ffb', inJson: Buffer.from([0x61, 0xff, 0x62]), isTypical: true },
  { what: 'overlong UTF-8', inUrl: '%c0%80', inJson: Buffer.from([0xc0, 0x80]) },
  { what: 'half a percent escape', inUrl: '%e2%82' },
  { what: '10 kB', inUrl: ten, inJson: ten, isTypical: true },
];

interface Sent {
  method: string;
  path: string;
  body?: Buffer;
}

/** Sends exactly these bytes: `fetch` would repair some of them. */
function send({ method, path, body }: Sent): Promise<{ status: number; text: string }> {
  const headers = { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) };
  return new Promise((resolve, reject) => {
    const sent = request(`${home.frame.url}/api/admin/v1`, { method, headers, path: `/api/admin/v1${path}` });
    sent.on('error', reject).on('response', (response) => {
      readText(response).then((text) => resolve({ status: response.statusCode ?? 0, text }), reject);
    });
    sent.end(body);
  });
}

const mark = '@hostile@';
/** A JSON body whose `mark` is the text. */
const jsonWith = (value: unknown, inside: string | Buffer): Buffer => {
  const [before = '', after = ''] = JSON.stringify(value).split(mark);
  return Buffer.concat([Buffer.from(before), Buffer.from(inside), Buffer.from(after)]);
};

interface Case {
  where: string;
  sent: Sent;
}

const someId = 'nobody';

/** A credential and a catalog may be as long. */
const longFields = new Set(['credential', 'catalog']);

/** Every place of an action's route that takes a text, with each of the texts. */
function casesOf(action: Action, route: ActionRoute): Case[] {
  const { method, path } = route;
  const names = [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => name);
  const plainPath = path.replace(/:\w+/g, someId);
  const inPaths = names.flatMap((name) =>
    texts.flatMap(({ what, inUrl }): Case[] => {
      if (inUrl === undefined) return [];
      const hostilePath = path.replace(`:${name}`, inUrl).replace(/:\w+/g, someId);
      return [{ where: `${what} in the path`, sent: { method, path: hostilePath, ...bodyOf(method, action.example) } }];
    }),
  );
  const fields = [...bodyFields(action, route).keys()];
  if (method === 'GET') {
    const required = new URLSearchParams();
    for (const [name, value] of Object.entries(action.example ?? {})) required.set(name, JSON.stringify(value));
    const inQueries = [...fields, 'unknown_field'].flatMap((field) =>
      texts.flatMap(({ what, inUrl }): Case[] => {
        if (inUrl === undefined) return [];
        required.delete(field);
        const query = [`${field}=${inUrl}`, required.toString()].filter(Boolean).join('&');
        return [{ where: `${what} in the query ${field}`, sent: { method, path: `${plainPath}?${query}` } }];
      }),
    );
    return [...inPaths, ...inQueries];
  }
  const shapes = (field: string): object[] => [
    { [field]: mark },
    { [field]: [mark] },
    { [field]: { [mark]: 'x' } },
    { [field]: { a: mark } },
    { [field]: [{ file: mark, text: mark.slice(1) }] },
  ];
  const inBodies = [...fields, mark].flatMap((field) =>
    shapes(field).flatMap((shape, nth) =>
      (nth === 0 ? texts : texts.filter(({ isTypical }) => isTypical)).flatMap(({ what, inJson }): Case[] =>
        inJson === undefined || (what === '10 kB' && longFields.has(field))
          ? []
          : [
              {
                where: `${what} in the body ${JSON.stringify(shape)}`,
                sent: { method, path: plainPath, body: jsonWith({ ...action.example, ...shape }, inJson) },
              },
            ],
      ),
    ),
  );
  return [...inPaths, ...inBodies];
}

const bodyOf = (method: string, example: object | undefined): { body?: Buffer } =>
  method === 'GET' ? {} : { body: Buffer.from(JSON.stringify(example ?? {})) };

const actions = allActions().flatMap(({ name, action }) =>
  'local' in action.route ? [] : [{ name, action, route: action.route }],
);

describe('a text that nobody writes', () => {
  it.each(actions)('is refused with 400 or 404 at every place of $name', async ({ action, route }) => {
    const wrong: unknown[] = [];
    const cases = casesOf(action, route);
    await Promise.all(
      Array.from({ length: 8 }, async () => {
        for (let next = cases.pop(); next; next = cases.pop()) {
          const answer = await send(next.sent);
          if (answer.status !== 400 && answer.status !== 404) wrong.push([next.where, answer]);
        }
      }),
    );
    expect(wrong).toEqual([]);
  });

  it.each(describedAdminRoutes().filter(({ path }) => /\/(session|playground|openapi)/.test(path)))(
    'is refused below 500 by $method $path',
    async (route) => {
      const path = route.path.replace('/api/admin/v1', '');
      for (const { what, inUrl = 'x', inJson = 'x' } of texts) {
        for (const body of [{ token: mark }, { project_id: mark }, { [mark]: 1 }]) {
          const query = `?code=${inUrl}&state=${inUrl}&${inUrl}=1`;
          const sent = { method: route.method, path: `${path}${query}`, body: jsonWith(body, inJson) };
          for (const one of [sent, { ...sent, path }]) {
            const { status } = await send(one);
            expect({ route: operationName(route), what, tooHigh: status >= 500 }).toMatchObject({ tooHigh: false });
          }
        }
      }
      // The session of the token does not end by a header of another.
      token = (await home.token('owner')).token;
    },
  );
});

describe('a value of the wrong type', () => {
  it.each(actions.filter(({ route }) => route.method !== 'GET'))(
    'is never told as missing by $name',
    async ({ action, route }) => {
      const path = route.path.replace(/:\w+/g, someId);
      for (const field of bodyFields(action, route).keys()) {
        for (const value of [1.5, true, [], {}, [1], { a: 1 }, null]) {
          const body = Buffer.from(JSON.stringify({ ...action.example, [field]: value }));
          const { status, text } = await send({ method: route.method, path, body });
          expect({ field, value, status: status < 500, text }).toMatchObject({
            status: true,
            // What an incomplete catalog lacks is told as "id: is required".
            text: expect.not.stringMatching(/\w is required|missing_parameter/),
          });
        }
      }
    },
  );

  it('is named as such, and an absent one as missing', async () => {
    const create = async (body: object) =>
      JSON.parse(
        (await send({ method: 'POST', path: '/projects', body: Buffer.from(JSON.stringify(body)) })).text,
      ) as unknown;
    expect(await create({ name: 1 })).toMatchObject({
      error: { code: 'invalid_value', param: 'name', message: 'name must be a text.' },
    });
    expect(await create({})).toMatchObject({
      error: { code: 'missing_parameter', param: 'name', message: 'name is required.' },
    });
  });

  it('of several lines is accepted only where a file is read', async () => {
    const answerTo = async (path: string, body: object) =>
      (await send({ method: 'POST', path, body: Buffer.from(JSON.stringify(body)) })).text;
    const asControl = expect.stringContaining('control characters');
    expect(await answerTo('/catalog/check', { catalog: 'models:\r\n  - id: x\t\n' })).not.toEqual(asControl);
    expect(await answerTo('/catalog/check', { catalog: 'models:\0' })).toMatch(/NUL/);
    expect(await answerTo('/projects', { name: 'a\nb' })).toEqual(asControl);
  });
});
