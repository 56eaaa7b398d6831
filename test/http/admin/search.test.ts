import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { commandLine } from '../../support/command-line.ts';
import { rowsOf, run } from '../../db/books.ts';
import { fillEveryTable } from '../../db/dumps/fill-every-table.ts';
import { startAdminHome, type AdminHome } from './admin-home.ts';

let home: AdminHome;
let viewer: string;
/** The ids of one row of each table, by `table.column`. */
let ids: Map<string, string>;

interface Hit {
  type: string;
  id: string;
  name: string;
  url: string;
}

beforeAll(async () => {
  home = await startAdminHome();
  ({ token: viewer } = await home.token('viewer', { name: 'ada' }));
  await fillEveryTable(home.settings['DATABASE_URL'] ?? '');
  const { token } = await home.token('owner');
  await home.ask(token, 'POST', '/plans', { body: { name: 'partners', rules: [{ models: '*', multiplier: 2 }] } });
  await run(home.db, `update model set private = jsonb_set(private, '{aliases}', '{"Old name": {}}')`);
  for (const table of ['job_run', 'alarm_silence']) await run(home.db, `update ${table} set id = rpad(id, 30, '0')`);
  ids = await idOfEachTable();
});
afterAll(() => home?.drop());

async function idOfEachTable(): Promise<Map<string, string>> {
  const columns = await rowsOf<{ name: string; read: string }>(
    home.db,
    `select table_name || '.' || column_name as name, format('select %I as id from %I where %I is not null limit 1', column_name, table_name, column_name) as read
     from information_schema.columns join information_schema.tables using (table_schema, table_name)
     where table_schema = 'public' and table_type = 'BASE TABLE' and data_type = 'text'
       and (column_name = 'id' or column_name in ('event_id', 'request_id', 'task_id')) and table_name not like 'api_detail%'`,
  );
  const found = new Map<string, string>();
  for (const { name, read } of columns) {
    const [row] = await rowsOf<{ id: string }>(home.db, read);
    if (row !== undefined && /^[a-z]+_/.test(row.id)) found.set(name, row.id);
  }
  return found;
}

async function hitsOf(q: string): Promise<Hit[]> {
  const { status, body } = await home.ask(viewer, 'GET', `/search?q=${encodeURIComponent(q)}`);
  expect({ q, status }).toEqual({ q, status: 200 });
  return body['data'] as Hit[];
}

const valueOf = async (text: string): Promise<string> =>
  (await rowsOf<{ value: string }>(home.db, text))[0]?.value ?? 'none';

describe('a search', () => {
  it('finds every kind of id that a table has', async () => {
    expect([...ids.keys()]).toEqual(
      expect.arrayContaining([
        'project.id',
        'api_key.id',
        'api_key_secret.id',
        'channel.id',
        'plan.id',
        'task.id',
        'hold.id',
      ]),
    );
    expect([...ids.keys()]).toEqual(
      expect.arrayContaining([
        'attempt.id',
        'delivery.id',
        'delivery.event_id',
        'file.id',
        'job_run.id',
        'admin_token.id',
      ]),
    );
    const missed: string[] = [];
    for (const [name, id] of ids) {
      const [first] = await hitsOf(id);
      if (first === undefined || !first.url.startsWith('/console/')) missed.push(`${name}: ${id}`);
      // The beginning of an id, as lists show it.
      const short = await hitsOf(`${id.slice(0, -2)}…`);
      if (short.length === 0) missed.push(`${name}: ${id.slice(0, -2)}…`);
    }
    expect(missed).toEqual([]);
  });

  it.each([
    ['project.id', 'project', /^\/console\/projects\/prj_\w+$/],
    ['api_key.id', 'key', /^\/console\/keys\/key_\w+$/],
    ['channel.id', 'channel', /^\/console\/channels\/chn_\w+$/],
    ['plan.id', 'plan', /^\/console\/plans\/[^/]+$/],
    ['task.id', 'task', /^\/console\/tasks\/task_\w+$/],
    ['task.request_id', 'task', /^\/console\/tasks\/task_\w+$/],
    ['delivery.id', 'delivery', /^\/console\/deliveries\?task=task_\w+$/],
    ['delivery.event_id', 'delivery', /^\/console\/deliveries\?task=task_\w+$/],
    ['file.id', 'file', /^\/console\/(?:tasks\/task|projects\/prj)_\w+$/],
    ['admin_token.id', 'admin_token', /^\/console\/access$/],
  ])('shows what has the id of %s as a %s with the address of its page', async (column, type, url) => {
    const [first] = await hitsOf(ids.get(column) ?? '');
    expect(first).toMatchObject({ type, url: expect.stringMatching(url) });
  });

  it('finds a chat by the id of its request, and by the ids that its answer may have', async () => {
    const requestId = await valueOf(
      `select request_id as value from ledger_entry where kind = 'settle' and request_id like 'req_%' limit 1`,
    );
    const expected = { type: 'chat', id: requestId, url: `/console/requests/${requestId}` };
    const running = await valueOf(`select id as value from hold where kind = 'chat' limit 1`);
    expect(await hitsOf(requestId)).toMatchObject([expected]);
    expect(await hitsOf(running)).toMatchObject([{ type: 'chat', id: running }]);
    // Each prefix of an answer stands before the rest of the id of its request.
    for (const prefix of ['chatcmpl-', 'msg_', 'resp_'])
      expect(await hitsOf(requestId.replace('req_', prefix))).toContainEqual(expect.objectContaining(expected));
  });

  it('finds a ledger entry, and a task by the id of its job at the provider', async () => {
    const entry = await valueOf(
      `select 'entry_' || id as value from ledger_entry where request_id like 'task_%' limit 1`,
    );
    expect(await hitsOf(entry)).toMatchObject([
      { type: 'ledger_entry', id: entry, url: expect.stringContaining('/tasks/') },
    ]);
    for (const member of ['task_id', 'request_id', 'prediction_id', 'interaction_id', 'video_id', 'name']) {
      await run(
        home.db,
        `update attempt set operation = jsonb_build_object('${member}', 'job of ${member}') where id = (select min(id) from attempt where request_id like 'task_%')`,
      );
      expect(await hitsOf(`job of ${member}`)).toMatchObject([{ type: 'task', id: expect.stringMatching(/^task_/) }]);
    }
  });

  it('finds a key by its first characters, its last ones, both, and the whole of it', async () => {
    const { body } = await home.ask((await home.token('owner')).token, 'POST', '/keys', {
      body: { project: ids.get('project.id'), name: 'searched' },
    });
    const { key_id: id, api_key: secret } = body as { key_id: string; api_key: string };
    const [first, last] = [secret.slice(0, 8), secret.slice(-4)];
    const key = { type: 'key', id, name: 'searched' };
    for (const q of [first, secret.slice(-7), `${first}…${last}`, `${first}...${last}`, secret])
      expect({ q, hits: await hitsOf(q) }).toMatchObject({ hits: [key] });
    // A name can happen to have four such characters too, in any case.
    expect((await hitsOf(last))[0]).toMatchObject(key);
    expect(JSON.stringify(await hitsOf(secret))).not.toContain(secret);
  });

  it.each([
    ['project', `select name as value from project limit 1`],
    ['key', `select name as value from api_key where name <> '' limit 1`],
    ['channel', `select name as value from channel limit 1`],
    ['plan', `select name as value from plan limit 1`],
    ['model', `select id as value from model limit 1`],
    ['model', `select entry ->> 'display_name' as value from model limit 1`],
    [
      'model',
      `select (select min(k) from jsonb_object_keys(private -> 'aliases') k) as value from model where private -> 'aliases' <> '{}' limit 1`,
    ],
  ])('finds a %s by its name in any case, and by a part of it', async (type, text) => {
    const name = await valueOf(text);
    const expected = expect.objectContaining({ type });
    expect(await hitsOf(name)).toContainEqual(expected);
    expect(await hitsOf(name.toUpperCase())).toContainEqual(expected);
    expect(await hitsOf(name.slice(1))).toContainEqual(expected);
  });

  it('puts the whole name before its beginning and its parts', async () => {
    const { token } = await home.token('owner');
    for (const name of ['The night train', 'Night', 'Night train'])
      await home.ask(token, 'POST', '/projects', { body: { name } });
    expect((await hitsOf('night')).map(({ name }) => name)).toEqual(['Night', 'Night train', 'The night train']);
  });

  it('returns an empty list for what nothing has, and takes hostile texts as texts', async () => {
    for (const q of [
      'nobody',
      'task_0',
      'req_00000000000000000000000000',
      '%',
      '%_%',
      "'; drop table task",
      'prj_',
      '…',
      '\\',
    ])
      expect({ q, hits: await hitsOf(q) }).toEqual({ q, hits: [] });
    expect(await home.ask(viewer, 'GET', '/search?q=')).toMatchObject({ status: 400 });
  });

  it('answers the command line as the admin API', async () => {
    const { done } = commandLine(() => home.settings);
    const id = ids.get('project.id') ?? '';
    expect(await done('search', id)).toEqual({ data: await hitsOf(id) });
  });
});
