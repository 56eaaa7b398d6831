import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { commandLine } from '../../support/command-line.ts';
import { chat, image } from '../../services/catalog/catalog-entries.ts';
import { codeOf, messageOf, startAdminHome, type AdminHome } from './admin-home.ts';
import {
  inputsOf,
  makeResource,
  samples,
  setOf,
  suffixOf,
  versionedChanges,
  type VersionedChange,
} from './versioned-things.ts';

let home: AdminHome;
let ada: string;
let grace: string;
const models = () => [
  image(),
  { ...image(), id: 'pic-2', private: { ...(image()['private'] as object), aliases: {} } },
  chat(),
];

beforeAll(async () => {
  home = await startAdminHome();
  ada = (await home.token('operator', { name: 'Ada' })).token;
  grace = (await home.token('operator', { name: 'Grace' })).token;
});
afterAll(() => home?.drop());
beforeEach(async () => {
  const catalog = JSON.stringify({ models: models() });
  expect(await home.ask(ada, 'PUT', '/catalog', { body: { catalog } })).toMatchObject({ status: 200 });
});

const readModel = async (id: string) => (await home.ask(ada, 'GET', `/catalog/${id}`)).body;
const put = (token: string, id: string, body: object) => home.ask(token, 'PUT', `/catalog/${id}`, { body });
/** The entry with another name of the model. */
const named = (entry: object, display_name: string) => ({ ...entry, display_name });

describe('a change of one model', () => {
  it('is refused with 409 if another operator changed that model since it was read, and changes nothing then', async () => {
    const read = await readModel('pic-1');
    const version = read['version'];
    const first = await put(ada, 'pic-1', { entry: named(read, 'Pic of Ada'), version });
    expect(first).toMatchObject({ status: 200, body: { model: 'pic-1', changed: true } });
    const second = await put(grace, 'pic-1', { entry: named(read, 'Pic of Grace'), version });
    expect([second.status, codeOf(second)]).toEqual([409, 'version_conflict']);
    const present = await readModel('pic-1');
    expect(present).toMatchObject({ display_name: 'Pic of Ada', version: first.body['version'] });
    expect(
      await put(grace, 'pic-1', { entry: named(present, 'Pic of both'), version: present['version'] }),
    ).toMatchObject({
      status: 200,
      body: { changed: true },
    });
  });

  it('lets one of many operators win who write at the same time, and refuses the others', async () => {
    const read = await readModel('pic-1');
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, n) =>
        put(ada, 'pic-1', { entry: named(read, `Pic ${n}`), version: read['version'] }),
      ),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409, 409, 409]);
  });

  it('is not refused because another model changed, and leaves that change as it is', async () => {
    const [one, two] = [await readModel('pic-1'), await readModel('pic-2')];
    await put(ada, 'pic-2', { entry: named(two, 'Second'), version: two['version'] });
    expect((await put(grace, 'pic-1', { entry: named(one, 'First'), version: one['version'] })).status).toBe(200);
    expect(await readModel('pic-2')).toMatchObject({ display_name: 'Second' });
  });

  it('is checked as a whole catalog is: another id, an alias of another model, an invalid price', async () => {
    const read = await readModel('pic-1');
    const other = await put(ada, 'pic-2', { entry: read });
    expect([other.status, codeOf(other)]).toEqual([409, 'action_refused']);
    const hidden = read['private'] as object;
    const taken = await put(ada, 'pic-1', { entry: { ...read, private: { ...hidden, aliases: { 'pic-2': {} } } } });
    expect(taken).toMatchObject({ status: 400, body: { error: { problems: [{ path: 'private.aliases.pic-2' }] } } });
    const dear = await put(ada, 'pic-1', { entry: { ...read, pricing: { unit: 'request', credits_per_request: -1 } } });
    expect([dear.status, codeOf(dear)]).toEqual([400, 'invalid_value']);
    const unknown = await put(ada, 'pic-9', { entry: { ...read, id: 'pic-9' } });
    expect([unknown.status, codeOf(unknown)]).toEqual([404, 'not_found']);
  });

  it('stands in the audit log under the id of the model, with what it changed', async () => {
    const read = await readModel('pic-1');
    await put(grace, 'pic-1', { entry: named(read, 'Audited'), version: read['version'] });
    expect((await home.ask(ada, 'GET', '/audit?subject=pic-1&limit=1')).body).toMatchObject({
      data: [
        { action: 'catalog.set', actor: expect.stringContaining('Grace'), after: { 'pic-1 display_name': 'Audited' } },
      ],
    });
  });

  it('is made from a file by the command line, also with a version', async () => {
    const { done, refused } = commandLine(() => home.settings);
    const file = join(home.settings['TOLLGATE_HOME'] ?? '', 'pic-1.json');
    const read = await done('catalog', 'show', 'pic-1');
    writeFileSync(file, JSON.stringify(named(read, 'Of a file')));
    const version = ['--version', String(read['version'])];
    expect(await done('catalog', 'set', 'pic-1', '--entry', file, ...version)).toMatchObject({ changed: true });
    expect(await done('catalog', 'set', 'pic-1', '--entry', file)).toMatchObject({ changed: false });
    writeFileSync(file, JSON.stringify(named(read, 'Again')));
    expect(await refused('catalog', 'set', 'pic-1', '--entry', file, ...version)).toContain(
      'was changed after it was read',
    );
  });
});

describe('a new catalog', () => {
  it('is refused with 409 if the catalog has another version than it names', async () => {
    const { body } = await home.ask(ada, 'GET', '/catalog');
    const two = await readModel('pic-2');
    await put(ada, 'pic-2', { entry: named(two, 'Changed meanwhile') });
    const catalog = JSON.stringify({ models: models() });
    const late = await home.ask(grace, 'PUT', '/catalog', { body: { catalog, version: body['version'] } });
    expect([late.status, codeOf(late)]).toEqual([409, 'version_conflict']);
    const { version } = (await home.ask(ada, 'GET', '/catalog')).body;
    expect((await home.ask(grace, 'PUT', '/catalog', { body: { catalog, version } })).status).toBe(200);
  });
});

describe('a catalog with dry_run', () => {
  it('is compared with the present one, member by member, and changes nothing', async () => {
    const before = (await home.ask(ada, 'GET', '/catalog')).body;
    const [pic] = models();
    const catalog = JSON.stringify({
      models: [
        { ...pic, display_name: 'Renamed' },
        { ...pic, id: 'pic-3', private: { ...(pic?.['private'] as object), aliases: {} } },
        chat(),
      ],
    });
    const preview = await home.ask(ada, 'PUT', '/catalog', { body: { catalog, dry_run: true } });
    expect(preview).toMatchObject({
      status: 200,
      body: { added: ['pic-3'], changed: ['pic-1'], removed: ['pic-2'], version: before['version'] },
    });
    expect(preview.body['differences']).toContainEqual({
      member: 'pic-1 display_name',
      before: 'Pic',
      after: 'Renamed',
    });
    expect((await home.ask(ada, 'GET', '/catalog')).body).toEqual(before);
    await home.ask(ada, 'PUT', '/catalog', { body: { catalog, version: before['version'] } });
    expect((await home.ask(ada, 'PUT', '/catalog', { body: { catalog, dry_run: true } })).body).toMatchObject({
      differences: [],
    });
  });
});

describe('the list of models', () => {
  const list = async (query = '') => (await home.ask(ada, 'GET', `/models${query}`)).body;
  const idsOf = ({ data }: Record<string, unknown>) => (data as { id: string }[]).map(({ id }) => id);

  it('has the same state of a model as its page and the whole catalog, and clients lose it with its day', async () => {
    const one = await readModel('pic-1');
    for (const [change, state] of [
      [{}, 'active'],
      [{ ends_on: '2999-01-01' }, 'ending'],
      [{ ends_on: '2020-01-01' }, 'retired'],
      [{ public: false }, 'hidden'],
    ] as const) {
      const { state: _state, version: _version, ...entry } = one;
      await put(ada, 'pic-1', { entry: { ...entry, private: { ...(one['private'] as object), ...change } } });
      expect(await readModel('pic-1')).toMatchObject({ state });
      expect((await list())['data']).toContainEqual(expect.objectContaining({ id: 'pic-1', state }));
      expect(idsOf(await list(`?state=${state}`))).toContain('pic-1');
    }
  });

  it('is filtered, sorted and paged by the server, without parameters and families', async () => {
    expect(idsOf(await list('?type=image&sort=-id'))).toEqual(['pic-2', 'pic-1']);
    const first = await list('?limit=2');
    expect(first).toMatchObject({ has_more: true, losing: expect.any(Array) });
    const rest = await list(`?limit=2&after=${String(first['next_cursor'])}`);
    expect([...idsOf(first), ...idsOf(rest)]).toEqual(models().map((model) => (model as { id: string }).id));
    expect(rest).toMatchObject({ has_more: false, next_cursor: null });
    expect(JSON.stringify(first)).not.toContain('upstream');
  });
});

const withEtag = (etag: string) => ({ headers: { 'if-match': etag } });

describe('whatever operators change by several forms', () => {
  let owner: string;
  beforeAll(async () => {
    owner = (await home.token('owner')).token;
  });
  const readResource = async (path: string) => {
    const { status, headers, body } = await home.ask(owner, 'GET', path);
    return { status, etag: headers.get('etag') ?? '', body };
  };
  /** Another operator changes the thing, without looking at versions. */
  const setBy = async (token: string, path: string, number: number) => {
    const [method, body, suffix = ''] = setOf(path, (await readResource(path)).body, number);
    const by = suffix === '' ? token : owner;
    expect((await home.ask(by, method, path + suffix, { body })).status).toBe(200);
  };
  const bodyOf = async (change: VersionedChange, path: string, number: number): Promise<object> => {
    const [, body, suffix = ''] = setOf(path, (await readResource(path)).body, number);
    return suffixOf(change) === suffix ? body : {};
  };

  it.each(versionedChanges)(
    '$name with If-Match is refused with 409 once the thing was changed, and changes nothing',
    async (change) => {
      expect(change.action.refusals).toContain('version_conflict');
      const path = await makeResource(home, owner, change);
      const before = await readResource(path);
      expect(before.etag).toMatch(/^"[\w.]+"$/);
      const run = async (etag: string) =>
        home.ask(owner, change.route.method, `${path}${suffixOf(change)}`, {
          body: await bodyOf(change, path, 1),
          ...withEtag(etag),
        });
      await setBy(grace, path, 2);
      const changed = await readResource(path);
      expect(changed.etag).not.toBe(before.etag);
      const late = await run(before.etag);
      expect([late.status, codeOf(late), messageOf(late)]).toEqual([
        409,
        'version_conflict',
        expect.stringContaining('was changed after it was read'),
      ]);
      expect(await readResource(path)).toEqual(changed);
      // A proxy that compresses answers makes their tags weak.
      expect((await run(`W/${changed.etag}`)).status).toBe(200);
    },
  );

  it.each(versionedChanges)('$name lets one of several win that are based on the same version', async (change) => {
    const path = await makeResource(home, owner, change);
    const { etag } = await readResource(path);
    const bodies = await Promise.all([1, 2, 3].map((number) => bodyOf(change, path, number)));
    const answers = await Promise.all(
      bodies.map((body) =>
        home.ask(owner, change.route.method, `${path}${suffixOf(change)}`, { body, ...withEtag(etag) }),
      ),
    );
    const statuses = answers.map(({ status }) => status).sort();
    // What is gone has no version any more.
    expect(statuses).toEqual(change.name.endsWith(' delete') ? [200, 404, 404] : [200, 409, 409]);
  });

  it.each(versionedChanges.filter(({ route: { resource, path } }) => resource !== undefined && /:\w+$/.test(path)))(
    '$name gives the thing another version with each of its inputs',
    async (change) => {
      const own = samples[change.name] ?? [];
      expect([...new Set(own.flatMap((body) => Object.keys(body)))].sort()).toEqual(inputsOf(change).sort());
      await home.ask(owner, 'POST', '/plans', { body: { name: 'versioned', rules: [{ models: '*', multiplier: 1 }] } });
      const path = await makeResource(home, owner, change);
      let { etag } = await readResource(path);
      for (const body of own) {
        const made = await home.ask(owner, 'PATCH', path, { body, ...withEtag(etag) });
        expect([body, made.status]).toEqual([body, 200]);
        const next = await readResource(path);
        expect([body, next.etag === etag]).toEqual([body, false]);
        ({ etag } = next);
      }
    },
  );

  it('keeps what several operators do to the credentials of a channel at the same time, and its last credential', async () => {
    const [channels] = versionedChanges.filter(({ name }) => name === 'channels set');
    const path = await makeResource(home, owner, channels as VersionedChange);
    const set = (body: object) => home.ask(owner, 'PATCH', path, { body });
    const added = await Promise.all(['sk-more-2222', 'sk-more-3333'].map((secret) => set({ credential_add: secret })));
    expect(added.map(({ status }) => status)).toEqual([200, 200]);
    const credentials = (await readResource(path)).body['credentials'] as { id: string; last4: string }[];
    expect(credentials.map(({ last4 }) => last4).sort()).toEqual(['1111', '2222', '3333']);
    const removed = await Promise.all(credentials.map(({ id }) => set({ credential_remove: id })));
    expect(removed.map(({ status }) => status).sort()).toEqual([200, 200, 409]);
    expect((await readResource(path)).body['credentials']).toHaveLength(1);
  });

  it('has the same version whatever its balance is, and a change without If-Match, or with *, is made as it always was', async () => {
    const [projects] = versionedChanges.filter(({ name }) => name === 'projects set');
    const path = await makeResource(home, owner, projects as VersionedChange);
    const { etag } = await readResource(path);
    const project = path.split('/')[2];
    await home.ask(owner, 'POST', '/credits', { body: { project, amount: 5, reference: 'r' } });
    expect((await readResource(path)).etag).toBe(etag);
    await setBy(grace, path, 1);
    const any = await home.ask(ada, 'PATCH', path, { body: { note: 'any' }, ...withEtag('*') });
    expect(any).toMatchObject({ status: 200, body: { note: 'any' } });
  });

  it('refuses an If-Match that is no ETag, and one where nothing has a version', async () => {
    const list = `${etagOfNothing}, "b"`;
    const wrong = await home.ask(owner, 'PUT', '/catalog', { body: { catalog: 'models: []' }, ...withEtag(list) });
    expect(wrong).toMatchObject({ status: 400, body: { error: { code: 'invalid_value', param: 'If-Match' } } });
    const none = await home.ask(owner, 'POST', '/projects', { body: { name: 'x' }, ...withEtag(etagOfNothing) });
    expect(none).toMatchObject({ status: 400, body: { error: { code: 'unsupported_parameter', param: 'If-Match' } } });
  });
});

const etagOfNothing = '"a"';

describe('the models of a key', () => {
  const owner = async (method: string, path: string, body: object) =>
    home.ask((await home.token('owner')).token, method, path, { body });

  it('are refused if the catalog has no such model, unless it is a glob', async () => {
    const project = String((await owner('POST', '/projects', { name: 'listed' })).body['project_id']);
    const create = (names: string[]) => owner('POST', '/keys', { project, models: names });
    const unknown = await create(['pic-1', 'pic-11']);
    expect(unknown).toMatchObject({
      status: 400,
      body: {
        error: { code: 'invalid_value', param: 'models', message: expect.stringContaining('Did you mean pic-1?') },
      },
    });
    const made = await create(['pic-1', 'veo-*']);
    expect(made.status).toBe(200);
    const id = String(made.body['key_id']);
    expect((await owner('PATCH', `/keys/${id}`, { models: ['nothing'] })).status).toBe(400);
    expect((await owner('PATCH', `/keys/${id}`, { models: ['pic-?'] })).body).toMatchObject({ models: ['pic-?'] });
  });
});

describe('the name and the note of a project', () => {
  it('are changed and shown, and the audit log has both', async () => {
    const owner = (await home.token('owner')).token;
    const made = await home.ask(owner, 'POST', '/projects', { body: { name: 'old' } });
    const id = String(made.body['project_id']);
    const set = (body: object) => home.ask(ada, 'PATCH', `/projects/${id}`, { body });
    expect((await set({ name: 'new', note: 'Pays by invoice' })).body).toMatchObject({
      name: 'new',
      note: 'Pays by invoice',
    });
    const listed = (await home.ask(ada, 'GET', '/projects?limit=1')).body['data'];
    expect(listed).toMatchObject([{ project_id: id, name: 'new', note: 'Pays by invoice' }]);
    expect((await set({ note: null })).body).toMatchObject({ name: 'new', note: null });
    expect((await home.ask(ada, 'GET', `/audit?subject=${id}&action=projects.set`)).body).toMatchObject({
      data: [
        { before: { note: 'Pays by invoice' }, after: { note: null } },
        { before: { name: 'old', note: null }, after: { name: 'new', note: 'Pays by invoice' } },
      ],
    });
  });
});
