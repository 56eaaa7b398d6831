import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import type { z } from 'zod';
import { allActions } from '../../../src/admin/table.ts';
import { sortColumnsOf } from '../../../src/admin/whole-list.ts';
import { writeOperatorHistory } from '../../support/operator-history.ts';
import { run } from '../../db/books.ts';
import { codeOf, startAdminHome, type AdminHome } from './admin-home.ts';

/** Every list of the admin API, from the table of actions: a new list is among them. What a search finds has an order of its own. */
const lists = allActions().flatMap(({ name, action: { route, answer, input } }) => {
  if ('local' in route || route.method !== 'GET' || route.path === '/search') return [];
  const row = rowOf(answer);
  return row === null ? [] : [{ name, path: route.path, columns: sortColumnsOf(row), isPaged: 'limit' in input }];
});

/** The schema of the rows of a list; null for another answer. */
function rowOf(answer: z.ZodType): z.ZodType | null {
  const { shape } = answer as Partial<z.ZodObject<{ data: z.ZodArray<z.ZodType>; next_cursor: z.ZodType }>>;
  return shape && 'next_cursor' in shape ? shape.data.element : null;
}

let home: AdminHome;
let token: string;

beforeAll(async () => {
  home = await startAdminHome();
  await writeOperatorHistory(home.databaseUrl, {
    entries: 200,
    entriesPerTask: 10,
    projects: 4,
    keys: 5,
    days: 3,
    audits: 30,
    scheduledJobRuns: 20,
  });
  for (const text of further) await run(home.db, text);
  ({ token } = await home.token('owner'));
  const catalog = readFileSync('test/support/catalog/anthropic.yaml', 'utf8');
  expect((await home.ask(token, 'PUT', '/catalog', { body: { catalog } })).status).toBe(200);
  for (const name of ['a', 'b', 'c']) await home.token('viewer', { name });
  // The use of a token is noted when the last one is a minute ago, and the list of the tokens must not change while it is read.
  await run(home.db, `update admin_token set last_used_at = clock_timestamp() + interval '1 hour'`);
});
afterAll(() => home?.drop());

/** Rows of the lists that the history of an operator lacks. */
const further = [
  `insert into admin_operator (id, issuer, subject, name, role, created_by, created_at)
   select 'opr_' || n, 'https://id.example', 's' || n, 'Name ' || n, 'viewer', 'test', clock_timestamp() - n * interval '1 day' from generate_series(1, 3) n`,
  `insert into alarm (name, subject, message, level, count, first_at, last_at)
   select 'account', 'channel ' || n, 'm', 'warn', n, clock_timestamp() - n * interval '1 hour', clock_timestamp() from generate_series(1, 3) n`,
  `insert into alarm_silence (id, name, subject, reason, created_by, created_at, until)
   select 'sil_' || n, 'account', 's' || n, 'why', 'test', clock_timestamp() - n * interval '1 hour', clock_timestamp() + interval '1 day' from generate_series(1, 3) n`,
  `update channel set created_at = clock_timestamp() - priority * interval '1 hour' - length(name) * interval '1 second'`,
];

interface Listed {
  data: Record<string, unknown>[];
  next_cursor: string | null;
}

const addressOf = (path: string, query: Record<string, string>): string => {
  const needed: Record<string, string> = path === '/ledger' ? { project: 'prj_h_1' } : {};
  return `${path}?${new URLSearchParams({ ...needed, ...query }).toString()}`;
};
async function readList(path: string, query: Record<string, string>): Promise<Listed> {
  const { status, body } = await home.ask(token, 'GET', addressOf(path, query));
  expect([status, body]).toEqual([200, expect.objectContaining({ data: expect.any(Array) })]);
  return body as unknown as Listed;
}

/** All rows in the order of the list, in pages where it has them. */
async function readAll(path: string, isPaged: boolean, query: Record<string, string>, limit = '400') {
  const rows: Record<string, unknown>[] = [];
  for (let after = ''; ;) {
    const page = await readList(path, { ...query, ...(isPaged && { limit, ...(after !== '' && { after }) }) });
    rows.push(...page.data);
    if (page.next_cursor === null) return rows;
    after = page.next_cursor;
  }
}

const valueAt = (row: Record<string, unknown>, column: string): unknown =>
  column.split('.').reduce<unknown>((value, name) => (value as Record<string, unknown> | null)?.[name] ?? null, row);
const identityOf = (row: Record<string, unknown>): string => JSON.stringify(row);

/** The time of a row, by which it is filtered and by which the newest comes first. */
function timeOf(row: Record<string, unknown>): number {
  const at = row['created_at'] ?? row['at'] ?? row['requested_at'] ?? row['since'];
  return Number(at ?? Infinity);
}

it('has the lists that operators know', () => {
  expect(lists.map(({ path }) => path)).toEqual(
    expect.arrayContaining([
      '/tasks',
      '/chats',
      '/keys',
      '/projects',
      '/channels',
      '/catalog',
      '/plans',
      '/deliveries',
      '/audit',
      '/ledger',
      '/jobs',
      '/operators',
      '/admin-tokens',
      '/alarms',
      '/alarms/silences',
    ]),
  );
});

describe.each(lists)('$path', ({ path, columns, isPaged }) => {
  it('is sorted by each of its columns, the largest first with a minus, and its pages are one list', async () => {
    const all = await readAll(path, isPaged, {});
    expect(all.length).toBeGreaterThan(1);
    for (const column of columns) {
      const rising = await readAll(path, isPaged, { sort: column });
      const falling = await readAll(path, isPaged, { sort: `-${column}` });
      expect(rising.map(identityOf).toSorted()).toEqual(all.map(identityOf).toSorted());
      const values = rising.map((row) => valueAt(row, column));
      const numbers = values.filter((value) => typeof value === 'number');
      expect([column, numbers]).toEqual([column, numbers.toSorted((a, b) => a - b)]);
      // A row without a value is before all others.
      expect([column, values.lastIndexOf(null)]).toEqual([column, values.filter((value) => value === null).length - 1]);
      expect([column, falling.map((row) => valueAt(row, column))]).toEqual([column, values.toReversed()]);
    }
    const [column = ''] = columns;
    const [rising, paged] = [
      await readAll(path, isPaged, { sort: column }),
      await readAll(path, isPaged, { sort: column }, '7'),
    ];
    expect(paged.map(identityOf)).toEqual(rising.map(identityOf));
  });

  it('begins with the newest or the oldest, and has only what was created in a range of time', async () => {
    const oldest = await readAll(path, isPaged, { sort: 'oldest' }, '9');
    const times = oldest.map(timeOf);
    const hasTimes = times.every(Number.isFinite);
    if (hasTimes) expect(times).toEqual(times.toSorted((a, b) => a - b));
    const newest = await readAll(path, isPaged, { sort: 'newest' });
    if (hasTimes && path !== '/chats') expect(newest.map(timeOf)).toEqual(times.toReversed());
    const middle = hasTimes ? (times[Math.floor(times.length / 2)] ?? 0) : Math.floor(Date.now() / 1_000) + 60;
    for (const sort of ['newest', 'oldest', ...columns.slice(0, 1)]) {
      const later = await readAll(path, isPaged, { sort, created_after: String(middle) });
      const earlier = await readAll(path, isPaged, { sort, created_before: String(middle) });
      expect([sort, later.length + earlier.length]).toEqual([sort, oldest.length]);
      if (!hasTimes) continue;
      expect(later.every((row) => timeOf(row) >= middle)).toBe(true);
      expect(earlier.every((row) => timeOf(row) < middle)).toBe(true);
    }
  });

  it('refuses an order that it does not have, and names those that it has', async () => {
    const refused = await home.ask(token, 'GET', addressOf(path, { sort: 'colour' }));
    expect([refused.status, codeOf(refused)]).toEqual([400, 'invalid_value']);
    expect(JSON.stringify(refused.body)).toContain(columns[0]);
  });
});

it('refuses the cursor of a list in another order', async () => {
  const { next_cursor: after } = await readList('/keys', { sort: '-spent', limit: '2' });
  for (const sort of ['spent', 'newest']) {
    const refused = await home.ask(token, 'GET', addressOf('/keys', { sort, after: after ?? '' }));
    expect([refused.status, codeOf(refused)]).toEqual([400, 'invalid_value']);
  }
});

it('sorts tasks and chats by `credits` as by the charged ones', async () => {
  for (const path of ['/tasks', '/chats'])
    expect((await readList(path, { sort: '-credits' })).data).toEqual(
      (await readList(path, { sort: '-credits.charged' })).data,
    );
});

describe('GET /audit', () => {
  it('finds the changes of an operator by a part of the name or the identity, in any case', async () => {
    const { tokenId } = await home.token('owner', { name: 'Ada Lovelace' });
    const created = (await home.token('operator', { name: 'Ada Lovelace' })).token;
    await home.ask(created, 'PATCH', '/keys/key_h_1_1', { body: { name: 'renamed' } });
    const found = async (by: string) => (await readList('/audit', { by })).data;
    const [entry] = await found('ada love');
    expect(entry).toMatchObject({ action: 'keys.set', actor: expect.stringContaining('Ada Lovelace (atk_') });
    const identity = String(entry?.['actor']).replace(/^.*\((.*)\)$/, '$1');
    expect(await found(identity.toUpperCase())).toEqual([entry]);
    expect(await found(tokenId)).toEqual([]);
    expect((await found('OPERATOR')).length).toBeGreaterThan(20);
    expect((await readList('/audit', { by: 'lovelace', subject: 'key_h_1_1', action: 'keys.set' })).data).toEqual([
      entry,
    ]);
  });
});

describe('what is typed into a field that finds', () => {
  const found = async (path: string, query: Record<string, string>, id: string): Promise<unknown[]> =>
    (await readList(path, query)).data.map((row) => row[id]);

  it('finds projects and keys by a part of their name or id in any case, and keys by the end of a secret', async () => {
    expect(await found('/projects', { q: 'PROJECT 2' }, 'project_id')).toEqual(['prj_h_2']);
    expect(await found('/projects', { q: '_h_3' }, 'project_id')).toEqual(['prj_h_3']);
    expect(await found('/projects', { q: 'Project%' }, 'project_id')).toEqual([]);
    expect(await found('/keys', { q: 'KEY_H_2_1' }, 'key_id')).toEqual(['key_h_2_1']);
    expect(await found('/keys', { q: 'key 3', project: 'prj_h_4' }, 'key_id')).toEqual(['key_h_4_3']);
    await run(home.db, `update api_key_secret set last4 = 'XyZ9' where key_id = 'key_h_3_2'`);
    expect(await found('/keys', { q: 'XyZ9' }, 'key_id')).toEqual(['key_h_3_2']);
  });

  it('finds the projects that have a plan, and those that have none', async () => {
    await run(home.db, `update project set plan_id = (select id from plan where name = 'plan 7') where id = 'prj_h_2'`);
    expect(await found('/projects', { plan: 'plan 7' }, 'project_id')).toEqual(['prj_h_2']);
    expect(await found('/projects', { plan: 'none' }, 'project_id')).not.toContain('prj_h_2');
    expect(await found('/projects', { plan: 'no such plan' }, 'project_id')).toEqual([]);
  });

  it('finds models by a part of their id, name or alias, the one of exactly this name first', async () => {
    const all = await found('/models', {}, 'id');
    expect(await found('/models', { q: 'CLAUDE' }, 'id')).toEqual(all);
    const opus = (await readList('/models', { q: 'claude-opus-4-8' })).data;
    expect(opus).toMatchObject([{ id: 'claude-opus-5.5' }]);
    expect(opus[0]?.['names']).toEqual(expect.arrayContaining(['claude-opus-5.5', 'claude-opus-4-8']));
    for (const id of all) expect((await found('/models', { q: String(id) }, 'id'))[0]).toBe(id);
    expect(await found('/models', { q: 'no such model' }, 'id')).toEqual([]);
  });

  it('refuses the cursor behind a model that the list does not have any more', async () => {
    const { next_cursor: after } = await readList('/models', { limit: '1' });
    expect((await readList('/models', { limit: '1', after: String(after) })).data).toHaveLength(1);
    const refused = await home.ask(token, 'GET', `/models?limit=1&type=video&after=${String(after)}`);
    expect([refused.status, codeOf(refused)]).toEqual([400, 'invalid_value']);
  });

  it('has only models that a key may use and a channel serves', async () => {
    const usable = { usable_by: 'key_h_1_1' };
    expect(await found('/models', usable, 'id')).toEqual([]);
    await run(
      home.db,
      `insert into channel (id, name, adapter, base_url, credential, groups) values ('chn_claude', 'claude', 'anthropic', 'http://127.0.0.1:1', 'sealed', '{chat}')`,
    );
    expect((await found('/models', usable, 'id')).length).toBeGreaterThan(1);
    await run(home.db, `update api_key set models = '{claude-opus-4-8}' where id = 'key_h_1_1'`);
    expect(await found('/models', usable, 'id')).toEqual(['claude-opus-5.5']);
    await run(home.db, `update channel set enabled = false where id = 'chn_claude'`);
    expect(await found('/models', usable, 'id')).toEqual([]);
    expect((await home.ask(token, 'GET', '/models?usable_by=key_none')).status).toBe(404);
  });
});
