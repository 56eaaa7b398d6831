import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import type { Database } from '../../../src/db/database.ts';
import { deleteTaskRow } from '../../../src/db/tasks/tasks.ts';
import { verifyLedger } from '../../../src/db/ledger/verify-ledger.ts';
import { mediaRoutes } from '../../../src/http/routes/media.ts';
import { taskRoutes } from '../../../src/http/routes/tasks.ts';
import { rowsOf, taskEnd } from '../../db/books.ts';
import type { Operator, TestProject } from '../../support/operator.ts';
import { accountOf, countRows } from '../../support/rows.ts';
import type { Frame } from '../support.ts';
import { openRouteHome, type RouteHome } from './route-home.ts';

let home: RouteHome;
let db: Database;
let frame: Frame;
let operator: Operator;
let project: TestProject;

beforeAll(async () => {
  home = await openRouteHome();
  ({ db, operator } = home);
  frame = await home.serve([...mediaRoutes(home.deps), ...taskRoutes(home.deps)]);
});
beforeEach(async () => {
  project = await operator.project({ credits: 1_000 });
});
afterAll(async () => {
  expect(await verifyLedger(db, 60)).toMatchObject({ ok: true });
  await home?.close();
});

interface Answer {
  status: number;
  body: Record<string, unknown>;
}
const toAnswer = async (response: Response): Promise<Answer> => ({
  status: response.status,
  body: (await response.json()) as Answer['body'],
});
const create = async (body: object, headers: Record<string, string> = {}, key = project.apiKey): Promise<Answer> =>
  toAnswer(
    await fetch(`${frame.url}${'duration' in body ? '/api/v1/video/generate' : '/api/v1/images/generate'}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    }),
  );
const get = async (path: string): Promise<Answer> =>
  toAnswer(await fetch(frame.url + path, { headers: { authorization: `Bearer ${project.apiKey}` } }));
const idsOf = ({ body }: Answer): unknown[] => (body['data'] as { task_id: string }[]).map(({ task_id: id }) => id);
const image = { model: 'aurora-image-1', prompt: 'a red fox' };

describe('dry_run', () => {
  it('answers the price that the task then has, and the input with its defaults', async () => {
    for (const body of [
      image,
      { ...image, img_size: '4k' },
      { model: 'kling-2.5-turbo', prompt: 'a dancer', duration: 10 },
    ]) {
      const quote = await create({ ...body, dry_run: true });
      const { status, body: task } = await create(body);
      expect([quote.status, status]).toEqual([200, 202]);
      const { quoted } = task['credits'] as { quoted: number };
      expect(quote.body).toMatchObject({
        object: 'quote',
        model: body.model,
        type: task['type'],
        input: task['input'],
        credits: { quoted },
      });
    }
  });

  it('writes nothing and holds nothing', async () => {
    const before = [await countRows(db), await accountOf(db, project.projectId)];
    await create({ ...image, dry_run: true, metadata: { order: '7' } });
    expect([await countRows(db), await accountOf(db, project.projectId)]).toEqual(before);
  });

  it('says whether the balance and the budget of the key cover the task', async () => {
    const { projectId } = await operator.project({ credits: 5 });
    const { apiKey } = await operator.key(projectId, { budget: 3 });
    const rich = await operator.key(projectId, {});
    const balanceOf = async (size: string, key: string) =>
      (await create({ ...image, img_size: size, dry_run: true }, {}, key)).body['balance'];
    expect(await balanceOf('1k', rich.apiKey)).toEqual({ available: 5, sufficient: true });
    expect(await balanceOf('2k', rich.apiKey)).toEqual({ available: 5, sufficient: false });
    expect(await balanceOf('1k', apiKey)).toEqual({ available: 5, sufficient: false });
  });

  it('neither binds an Idempotency-Key nor minds one that is bound', async () => {
    const key = { 'idempotency-key': randomUUID() };
    expect(await create({ ...image, dry_run: true }, key)).toMatchObject({ status: 200 });
    const task = await create(image, key);
    expect(task.status).toBe(202);
    expect(await create({ ...image, dry_run: true }, key)).toMatchObject({ status: 200, body: { object: 'quote' } });
    expect((await create(image, key)).body['task_id']).toBe(task.body['task_id']);
  });

  it('refuses what a create refuses about the request', async () => {
    expect(await create({ ...image, dry_run: true, img_size: '9k' })).toMatchObject({ status: 400 });
    expect(await create({ ...image, dry_run: true, model: 'none' })).toMatchObject({ status: 404 });
    expect(await create({ ...image, dry_run: 1 })).toMatchObject({
      status: 400,
      body: { error: { param: 'dry_run' } },
    });
  });
});

describe('max_credits', () => {
  it('refuses a dearer task before anything is written, and a dearer quote', async () => {
    const before = await countRows(db);
    for (const dry_run of [false, true]) {
      expect(await create({ ...image, max_credits: 3, dry_run }, { 'idempotency-key': randomUUID() })).toMatchObject({
        status: 402,
        body: {
          error: {
            code: 'max_credits_exceeded',
            type: 'billing_error',
            param: 'max_credits',
            message: 'This request costs 4 credits, and max_credits is 3.',
          },
        },
      });
    }
    expect(await countRows(db)).toEqual(before);
  });

  it('accepts a task of that price', async () => {
    expect(await create({ ...image, max_credits: 4 })).toMatchObject({
      status: 202,
      body: { max_credits: 4, credits: { quoted: 4 } },
    });
  });
});

describe('metadata and deadline_seconds', () => {
  it('are on the task, as it was created and as it is polled, and the deadline is kept', async () => {
    const metadata = { order: '7', 'customer name': 'Ärger & Söhne' };
    const { status, body } = await create({ ...image, metadata, deadline_seconds: 45 });
    expect([status, body]).toMatchObject([202, { metadata, deadline_seconds: 45, max_credits: null }]);
    expect((await get(`/api/v1/tasks/${String(body['task_id'])}`)).body).toEqual(body);
    const [row] = await rowsOf<{ seconds: number }>(
      db,
      `select extract(epoch from deadline_at - created_at)::float8 as seconds from task where id = $1`,
      [body['task_id']],
    );
    expect(row?.seconds).toBeCloseTo(45, 1);
  });

  it('are {} and the limit of the type when they are absent', async () => {
    expect((await create(image)).body).toMatchObject({ metadata: {}, deadline_seconds: 600 });
    expect((await create({ model: 'kling-2.5-turbo', prompt: 'a dancer', duration: 5 })).body).toMatchObject({
      metadata: {},
      deadline_seconds: 3_600,
    });
  });

  it('find a task in the list: all given names must have their values', async () => {
    const a = (await create({ ...image, metadata: { env: 'prod', user: 'a' } })).body['task_id'];
    const b = (await create({ ...image, metadata: { env: 'prod', user: 'b' } })).body['task_id'];
    await create(image);
    const found = async (query: string) => idsOf(await get(`/api/v1/tasks?${query}`));
    expect(await found('metadata[env]=prod')).toEqual([b, a]);
    expect(await found('metadata[env]=prod&metadata[user]=a')).toEqual([a]);
    expect(await found('metadata[user]=b&status=queued&type=image&model=aurora-image-1')).toEqual([b]);
    expect(await found('metadata[user]=b&status=failed')).toEqual([]);
    expect(await found('metadata[user]=env')).toEqual([]);
    expect(await found('metadata[__proto__]=x')).toEqual([]);
    const first = await get('/api/v1/tasks?metadata[env]=prod&limit=1');
    expect([idsOf(first), first.body['has_more']]).toEqual([[b], true]);
    expect(await found(`metadata[env]=prod&limit=1&after=${String(first.body['next_cursor'])}`)).toEqual([a]);
  });

  it('are refused in a list with what is accepted', async () => {
    expect(await get('/api/v1/tasks?metadata[]=x')).toMatchObject({
      status: 400,
      body: { error: { code: 'invalid_value' } },
    });
    expect(await get('/api/v1/tasks?metadata[a]=%00')).toMatchObject({
      status: 400,
      body: { error: { param: 'metadata[a]' } },
    });
  });
});
describe('a replay of a create', () => {
  it('is 409 after its task was deleted, and buys nothing', async () => {
    const key = { 'idempotency-key': randomUUID() };
    const taskId = String((await create(image, key)).body['task_id']);
    await home.deps.ledger.finishTask(taskEnd(taskId, 'failed'));
    expect(await deleteTaskRow(db, taskId)).toMatchObject({ verdict: 'deleted' });
    const before = await countRows(db);
    expect(await create(image, key)).toMatchObject({
      status: 409,
      body: { error: { code: 'idempotency_result_gone' } },
    });
    expect(await countRows(db)).toEqual(before);
  });
});
