import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Database } from '../../../src/db/database.ts';
import { taskRoutes } from '../../../src/http/routes/tasks.ts';
import { aRunningTask, succeed } from '../../support/ended-task.ts';
import type { Operator, TestProject } from '../../support/operator.ts';
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
  frame = await home.serve(taskRoutes(home.deps));
  project = await operator.project();
});
afterAll(() => home?.close());

interface List {
  object: string;
  data: { task_id: string; created_at: number; status: string }[];
  has_more: boolean;
  next_cursor: string | null;
}
const get = async (path: string, key = project.apiKey): Promise<{ status: number; body: unknown }> => {
  const answer = await fetch(frame.url + path, { headers: { authorization: `Bearer ${key}` } });
  return { status: answer.status, body: await answer.json() };
};
const list = async (query = '', key = project.apiKey): Promise<List> => {
  const { status, body } = await get(`/api/v1/tasks${query}`, key);
  expect(status).toBe(200);
  return body as List;
};
const ids = ({ data }: List): string[] => data.map(({ task_id: id }) => id);

describe('GET /api/v1/tasks', () => {
  it('returns each task of the project as a poll returns it, newest first', async () => {
    const taskIds = [await aRunningTask(db, project), await aRunningTask(db, project), await aRunningTask(db, project)];
    await succeed(db, taskIds[1] ?? '');

    const all = await list();

    expect(all).toMatchObject({ object: 'list', has_more: false, next_cursor: null });
    expect(ids(all)).toEqual(taskIds.toReversed());
    for (const task of all.data) expect(task).toEqual((await get(`/api/v1/tasks/${task.task_id}`)).body);
    const first = await list('?limit=2');
    expect([ids(first), first.has_more]).toEqual([taskIds.toReversed().slice(0, 2), true]);
    expect(ids(await list(`?limit=2&after=${first.next_cursor}`))).toEqual(taskIds.slice(0, 1));
  });

  it('filters by status, type, model, key and time', async () => {
    const { apiKey } = await operator.key(project.projectId, {});
    const own = await operator.project();
    const taskId = await aRunningTask(db, own);
    const endedId = await aRunningTask(db, own);
    await succeed(db, endedId);
    const { created_at: at } = (await list('', own.apiKey)).data.at(-1) ?? { created_at: 0 };
    const both = [endedId, taskId];
    for (const [query, expected] of [
      ['status=queued', [taskId]],
      ['status=succeeded', [endedId]],
      ['status=failed', []],
      ['type=image', both],
      ['type=video', []],
      ['model=model-a', both],
      ['model=model-b', []],
      [`key_id=${own.keyId}`, both],
      [`key_id=${project.keyId}`, []],
      [`created_after=${at}`, both],
      [`created_after=${at + 60}`, []],
      [`created_before=${at}`, []],
      [`created_before=${at + 60}&status=succeeded&type=image&model=model-a&key_id=${own.keyId}`, [endedId]],
    ] as const) {
      expect([query, ids(await list(`?${query}`, own.apiKey))]).toEqual([query, expected]);
    }
    // Every key of a project sees all of its tasks, and no task of another project.
    expect(ids(await list('', apiKey))).not.toContain(taskId);
    expect(ids(await list('', apiKey)).length).toBeGreaterThan(0);
  });

  it.each([
    ['status=done', 'status', 'status: done is not one of queued, processing, succeeded, failed, canceled.'],
    ['type=audio', 'type', 'type: audio is not one of image, video.'],
    ['created_after=soon', 'created_after', 'created_after: soon is not a time in whole unix seconds.'],
    ['limit=101', 'limit', 'limit: 101 is not a whole number from 1 to 100.'],
    ['after=task_1', 'after', 'after: task_1 is not a next_cursor of this list.'],
    ['model=%00', 'model', 'model: \0 is not a text of at most 200 characters without NUL.'],
  ])('refuses %s and says what is accepted', async (query, param, message) => {
    expect(await get(`/api/v1/tasks?${query}`)).toMatchObject({
      status: 400,
      body: { error: { code: 'invalid_value', param, message } },
    });
  });

  it('refuses an unknown query parameter', async () => {
    expect(await get('/api/v1/tasks?state=queued')).toMatchObject({
      status: 400,
      body: { error: { code: 'unsupported_parameter', param: 'state' } },
    });
  });
});
