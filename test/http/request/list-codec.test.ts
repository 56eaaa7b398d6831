import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { pageOf } from '../../../src/domain/page.ts';
import type { AppMiddleware } from '../../../src/http/context.ts';
import { createListCodec, pageQuery } from '../../../src/http/request/list-codec.ts';
import { queryChoice, queryParam, queryReader, queryTime } from '../../../src/http/request/query.ts';
import { goodKey, startFrame, type Frame } from '../support.ts';

/** Numbers, of which the greatest is the newest. */
let numbers: number[];
const readPage = queryReader(pageQuery);
const codec = createListCodec('numbers', /^\d{1,9}$/);
const listNumbers: AppMiddleware = (ctx) => {
  const { limit, after } = codec.read(readPage(ctx));
  const rows = numbers.toSorted((a, b) => b - a).filter((n) => after === null || n < Number(after));
  const { items, next } = pageOf(rows.slice(0, limit + 1), limit, String);
  ctx.body = codec.write({ items: items.map((n) => ({ n })), next });
  return Promise.resolve();
};
const listOthers: AppMiddleware = (ctx) => {
  createListCodec('others', /^\d{1,9}$/).read(readPage(ctx));
  return Promise.resolve();
};
const filterQuery = {
  colour: queryChoice('The colour.', ['red', 'blue']),
  from: queryTime('The start.'),
  metadata: queryParam('The metadata.', z.record(z.string(), z.string())),
};
const readFilters = queryReader(filterQuery);
const filters: AppMiddleware = (ctx) => {
  const { colour, from } = readFilters(ctx);
  ctx.body = { colour, from };
  return Promise.resolve();
};

let frame: Frame;
beforeAll(async () => {
  const get = { auth: 'api_key', scopes: ['read'], dialect: 'openai', method: 'GET', body: 'none' } as const;
  frame = await startFrame({
    routes: [
      { ...get, path: '/numbers', query: pageQuery, handler: listNumbers },
      { ...get, path: '/others', query: pageQuery, handler: listOthers },
      { ...get, path: '/filters', query: filterQuery, handler: filters },
    ],
  });
});
afterAll(() => frame.close());

interface List {
  object: string;
  data: { n: number }[];
  has_more: boolean;
  next_cursor: string | null;
}
const get = (path: string) => fetch(frame.url + path, { headers: { authorization: `Bearer ${goodKey}` } });
const list = async (query: string): Promise<List> => (await get(`/numbers?${query}`)).json() as Promise<List>;
const upTo = (count: number): number[] => Array.from({ length: count }, (_, n) => n + 1);

describe('a list', () => {
  it('returns 20 items by default, newest first, and says whether there are more', async () => {
    numbers = upTo(45);
    const first = await list('');
    expect(first).toMatchObject({ object: 'list', has_more: true });
    expect(first.data.map(({ n }) => n)).toEqual(upTo(45).reverse().slice(0, 20));
    numbers = upTo(20);
    expect(await list('')).toMatchObject({ has_more: false, next_cursor: null });
    numbers = [];
    expect(await list('')).toEqual({ object: 'list', data: [], has_more: false, next_cursor: null });
  });

  it('shows every item once over its pages, while newer items are added and shown items are removed', async () => {
    numbers = upTo(100);
    const shown: number[] = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const page: List = await list(`limit=7&after=${cursor}`);
      shown.push(...page.data.map(({ n }) => n));
      cursor = page.next_cursor;
      numbers = [...numbers.filter((n) => n !== shown.at(-1)), 1_000 + shown.length];
    }
    expect(shown).toEqual(upTo(100).reverse());
  });

  it('refuses a limit out of range, and a cursor that is not its own', async () => {
    numbers = upTo(100);
    const { next_cursor: cursor } = await list('limit=1');
    expect(cursor).toMatch(/^[\w-]+$/);
    for (const path of [
      '/numbers?limit=0',
      '/numbers?limit=101',
      '/numbers?after=5',
      '/numbers?after=%00',
      `/numbers?after=${Buffer.from('numbers:x').toString('base64url')}`,
      `/others?after=${cursor}`,
    ]) {
      const answer = await get(path);
      const { error } = (await answer.json()) as { error: { code: string; param: string; message: string } };
      expect([path, answer.status, error.code, error.param]).toEqual([
        path,
        400,
        'invalid_value',
        path.includes('limit') ? 'limit' : 'after',
      ]);
    }
  });
});

describe('a filter', () => {
  it('is one of its values or a time, and absent when it is empty', async () => {
    expect(await (await get('/filters?colour=red&from=1700000000')).json()).toEqual({
      colour: 'red',
      from: 1700000000,
    });
    expect(await (await get('/filters?colour=&from=')).json()).toEqual({});
  });

  it.each([
    ['colour=green', 'colour: green is not one of red, blue.'],
    ['from=yesterday', 'from: yesterday is not a time in whole unix seconds.'],
    ['from=-1', 'from: -1 is not a time in whole unix seconds.'],
    ['from=1.5', 'from: 1.5 is not a time in whole unix seconds.'],
  ])('with another value is refused: %s', async (query, message) => {
    const answer = await get(`/filters?${query}`);
    expect([answer.status, await answer.json()]).toMatchObject([400, { error: { code: 'invalid_value', message } }]);
  });

  it('in brackets takes any name, each once', async () => {
    expect((await get('/filters?metadata[a]=1&metadata[b]=1&metadata%5Bc%5D=1')).status).toBe(200);
    for (const query of ['metadata=1', 'other[a]=1', 'colour[a]=1', 'metadata[a]x=1']) {
      const answer = await get(`/filters?${query}`);
      expect([answer.status, await answer.json()]).toMatchObject([400, { error: { code: 'unsupported_parameter' } }]);
    }
    const twice = await get('/filters?metadata[a]=1&metadata[a]=2');
    expect([twice.status, await twice.json()]).toMatchObject([400, { error: { code: 'invalid_value' } }]);
  });
});
