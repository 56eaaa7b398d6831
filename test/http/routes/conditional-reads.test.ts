import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { revokeKey } from '../../../src/services/projects/revoke-key.ts';
import type { Database } from '../../../src/db/database.ts';
import { modelRoutes } from '../../../src/http/routes/models.ts';
import { taskRoutes } from '../../../src/http/routes/tasks.ts';
import { run } from '../../db/books.ts';
import { aRunningTask, deliver, succeed } from '../../support/ended-task.ts';
import { eventually } from '../../support/eventually.ts';
import type { Operator, TestProject } from '../../support/operator.ts';
import { sendRaw, type Frame } from '../support.ts';
import { openRouteHome, type RouteHome } from './route-home.ts';

let home: RouteHome;
let db: Database;
let frame: Frame;
let operator: Operator;
let project: TestProject;

beforeAll(async () => {
  home = await openRouteHome();
  ({ db, operator } = home);
  frame = await home.serve([...modelRoutes(home.deps), ...taskRoutes(home.deps)]);
  project = await operator.project();
});
afterAll(() => home?.close());

interface Answer {
  status: number;
  /** In lower case. */
  headers: Record<string, string>;
  body: Buffer;
}

/** Reads the bytes as they are on the wire, because fetch decodes a coded body and hides its headers. */
async function read(
  path: string,
  { key = project.apiKey, method = 'GET', ...headers }: Record<string, string> = {},
): Promise<Answer> {
  const own = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const raw = await sendRaw(
    frame.url,
    `${method} ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAuthorization: Bearer ${key}\r\n${own.join('')}\r\n`,
  );
  const end = raw.indexOf('\r\n\r\n');
  const [first = '', ...lines] = raw.slice(0, end).split('\r\n');
  return {
    status: Number(first.split(' ')[1]),
    headers: Object.fromEntries(
      lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
    ),
    body: Buffer.from(raw.slice(end + 4), 'latin1'),
  };
}

const decoders: Record<string, (body: Buffer) => Buffer> = {
  br: brotliDecompressSync,
  gzip: gunzipSync,
  zstd: zstdDecompressSync,
};
const models = '/api/v1/models';

describe('the list of models', () => {
  it.each([
    ['', undefined],
    ['identity', undefined],
    ['gzip', 'gzip'],
    ['br', 'br'],
    ['zstd', 'zstd'],
    ['gzip, deflate', 'gzip'],
    ['gzip;q=0.5, br', 'br'],
    ['br;q=0, gzip', 'gzip'],
    ['*', 'br'],
    ['deflate', undefined],
    ['identity;q=0', undefined],
    ['gzip;q=0', undefined],
  ])('is sent in a coding that the client accepts: Accept-Encoding %j gets %j', async (accepted, coding) => {
    const plain = await read(models);
    const { status, headers, body } = await read(models, { 'accept-encoding': accepted });
    expect([status, headers['content-encoding'], headers['vary']]).toEqual([200, coding, 'Accept-Encoding']);
    expect(Number(headers['content-length'])).toBe(body.length);
    const decoded = coding === undefined ? body : decoders[coding]?.(body);
    expect(decoded?.equals(plain.body)).toBe(true);
    expect(JSON.parse(String(decoded))).toMatchObject({ object: 'list' });
    expect(headers['etag'] === plain.headers['etag']).toBe(coding === undefined);
  });

  it('answers 304 only to the entity tag of the representation that it would send', async () => {
    const gzip = await read(models, { 'accept-encoding': 'gzip' });
    const etag = gzip.headers['etag'] ?? '';
    const again = await read(models, { 'accept-encoding': 'gzip', 'if-none-match': etag });
    expect([again.status, again.body.length, again.headers['etag']]).toEqual([304, 0, etag]);
    expect(again.headers).toMatchObject({ vary: 'Accept-Encoding', 'cache-control': 'private, no-cache' });
    expect(again.headers['content-encoding']).toBeUndefined();
    expect((await read(models, { 'if-none-match': etag })).status).toBe(200);
  });

  it('has another entity tag, in every coding, as soon as the catalog has changed', async () => {
    const before = await read(models, { 'accept-encoding': 'br' });
    await run(db, `update model set entry = jsonb_set(entry, '{display_name}', '"Renamed"')`);
    const after = await eventually(async () => {
      const answer = await read(models, { 'accept-encoding': 'br', 'if-none-match': before.headers['etag'] ?? '' });
      return answer.status === 200 && answer;
    });
    expect(brotliDecompressSync(after.body).toString()).toContain('Renamed');
  });

  it('is the own list of each allowlist, with an entity tag of its own', async () => {
    const all = JSON.parse(String((await read(models)).body)) as { data: { id: string }[] };
    const [first = '', second = ''] = all.data.map(({ id }) => id);
    const keys = await Promise.all(
      [[first], [second]].map((allowed) => operator.key(project.projectId, { models: allowed })),
    );
    const lists = await Promise.all(keys.map(({ apiKey }) => read(models, { key: apiKey })));
    const ids = lists.map(({ body }) => (JSON.parse(String(body)) as typeof all).data.map(({ id }) => id));
    expect(ids).toEqual([[first], [second]]);
    expect(new Set(lists.map(({ headers }) => headers['etag'])).size).toBe(2);
  });
});

describe('a model, and a task that has ended', () => {
  const paths = async (): Promise<string[]> => {
    const { data } = JSON.parse(String((await read(models)).body)) as { data: { id: string }[] };
    const taskId = await aRunningTask(db, project);
    await succeed(db, taskId);
    return [`/api/v1/models/${data[0]?.id}`, `/api/v1/tasks/${taskId}`];
  };

  it('answer 304 without a body to a list with their entity tag, to a weak one and to *, and 200 to any other', async () => {
    for (const path of await paths()) {
      const { status, headers, body } = await read(path);
      const etag = headers['etag'] ?? '';
      expect([status, headers['cache-control'], /^"[\w-]{22}"$/.test(etag)]).toEqual([200, 'private, no-cache', true]);
      for (const ifNoneMatch of [etag, `W/${etag}`, `"a", W/"b",${etag}`, '*']) {
        const answer = await read(path, { 'if-none-match': ifNoneMatch });
        expect([ifNoneMatch, answer.status, answer.body.length, answer.headers['etag']]).toEqual([
          ifNoneMatch,
          304,
          0,
          etag,
        ]);
        expect(answer.headers['cache-control']).toBe('private, no-cache');
      }
      for (const ifNoneMatch of ['"a"', etag.slice(1, -1), `"a, ${etag.slice(1)}`, '']) {
        const answer = await read(path, { 'if-none-match': ifNoneMatch });
        expect([ifNoneMatch, answer.status, answer.body.equals(body)]).toEqual([ifNoneMatch, 200, true]);
      }
    }
  });

  it('answer HEAD with the headers of GET', async () => {
    for (const path of await paths()) {
      const [get, head] = [await read(path), await read(path, { method: 'HEAD' })];
      expect([head.status, head.body.length, head.headers['etag'], head.headers['content-length']]).toEqual([
        200,
        0,
        get.headers['etag'],
        get.headers['content-length'],
      ]);
    }
  });
});

describe('a task', () => {
  it('has another entity tag after each change, up to the delivery of its callback', async () => {
    const taskId = await aRunningTask(db, project, 'https://receiver.example/hook');
    const path = `/api/v1/tasks/${taskId}`;
    const etags: (string | undefined)[] = [];
    const readNew = async (): Promise<void> => {
      const { status, headers } = await read(path, { 'if-none-match': etags.join(',') || '"none"' });
      expect(status).toBe(200);
      etags.push(headers['etag']);
      expect((await read(path, { 'if-none-match': headers['etag'] ?? '' })).status).toBe(304);
    };
    await readNew();
    await run(db, 'update task set progress = 40 where id = $1', [taskId]);
    await readNew();
    const deliveryId = await succeed(db, taskId);
    await readNew();
    await deliver(db, deliveryId);
    await readNew();
    expect(new Set(etags).size).toBe(4);
  });

  it("is not found for another project and refused to a revoked key, also if the client's entity tag is current", async () => {
    const taskId = await aRunningTask(db, project);
    await succeed(db, taskId);
    const path = `/api/v1/tasks/${taskId}`;
    const own = await operator.key(project.projectId);
    expect((await read(path, { key: own.apiKey })).status).toBe(200);

    const other = await operator.project();
    for (const ifNoneMatch of ['*', (await read(path)).headers['etag'] ?? '']) {
      const answer = await read(path, { key: other.apiKey, 'if-none-match': ifNoneMatch });
      expect([answer.status, answer.headers['etag'], answer.headers['cache-control']]).toEqual([
        404,
        undefined,
        'no-store',
      ]);
    }
    await revokeKey({ db }, { keyId: own.keyId, actor: 'test' });
    await eventually(async () => (await read(path, { key: own.apiKey, 'if-none-match': '*' })).status === 401);
  });
});
