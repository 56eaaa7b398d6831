import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { clientRedeliveries } from '../../../src/services/callbacks/redeliver-callback.ts';
import type { Database } from '../../../src/db/database.ts';
import { claimDelivery, endDeliveryTry, startRedelivery } from '../../../src/db/callbacks/deliveries.ts';
import { draftFiles, findFile } from '../../../src/db/files/files.ts';
import { verifyLedger } from '../../../src/db/ledger/verify-ledger.ts';
import { taskRoutes } from '../../../src/http/routes/tasks.ts';
import { newId } from '../../../src/platform/crypto/ids.ts';
import { admitted, entriesOf, newTask, openLedger, rowsOf, run } from '../../db/books.ts';
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
afterAll(async () => {
  expect(await verifyLedger(db, 60)).toMatchObject({ ok: true });
  await home?.close();
});

interface Answer {
  status: number;
  body: Record<string, unknown>;
}
const ask = async (path: string, method = 'GET', key = project.apiKey): Promise<Answer> => {
  const answer = await fetch(frame.url + path, { method, headers: { authorization: `Bearer ${key}` } });
  return { status: answer.status, body: (await answer.json()) as Answer['body'] };
};
const notFound = { status: 404, body: { error: { code: 'task_not_found' } } };
const hook = 'https://receiver.example/hook';

/** A file of this task. */
async function aFile(taskId: string): Promise<string> {
  const id = newId('file');
  const drafts = [{ id, storageKey: `outputs/${id}` }];
  await draftFiles(db, { projectId: project.projectId, taskId, purpose: 'output', drafts, keptSeconds: 3_600 });
  return id;
}

describe('DELETE of a task', () => {
  it('erases content, metadata, callback and files, keeps what it cost, and hides the task everywhere', async () => {
    const secret = 'a secret fox';
    const task = newTask(project, 5, {
      taskId: newId('task'),
      input: { prompt: secret },
      metadata: { customer: secret },
      callbackUrl: `${hook}?token=${encodeURIComponent(secret)}`,
    });
    const { taskId } = await admitted(openLedger(db), task);
    await succeed(db, taskId);
    await run(db, `update delivery set body = $2 where task_id = $1`, [taskId, secret]);
    await run(db, `update attempt set result = to_jsonb($2::text) where request_id = $1`, [taskId, secret]);
    const fileId = await aFile(taskId);
    // Kept in the memory of the process.
    expect(await ask(`/api/v1/tasks/${taskId}`)).toMatchObject({ status: 200 });

    expect(await ask(`/api/v1/tasks/${taskId}`, 'DELETE')).toEqual({
      status: 200,
      body: { task_id: taskId, object: 'task', deleted: true },
    });

    for (const path of ['', '/attempts', '/deliveries'])
      expect(await ask(`/api/v1/tasks/${taskId}${path}`)).toMatchObject(notFound);
    expect(await ask(`/api/v1/tasks/${taskId}`, 'DELETE')).toMatchObject(notFound);
    for (const query of ['', `?metadata[customer]=${encodeURIComponent(secret)}`, '?status=succeeded'])
      expect(JSON.stringify((await ask(`/api/v1/tasks${query}`)).body)).not.toContain(taskId);
    expect(await findFile(db, fileId)).toBeNull();
    const rows = await rowsOf<{ text: string }>(
      db,
      `select (select jsonb_agg(t) from task t where id = $1)::text || coalesce((select jsonb_agg(a) from attempt a where request_id = $1)::text, '')
         || coalesce((select jsonb_agg(d) from delivery d where task_id = $1)::text, '')
         || (select count(*) from task_metadata where task_id = $1) as text`,
      [taskId],
    );
    expect(rows[0]?.text).toContain(taskId);
    expect(rows[0]?.text).not.toContain('secret');
    expect(rows[0]?.text).toMatch(/0$/);
    expect(await entriesOf(db, taskId)).toEqual({ settle: 1 });
    expect(await rowsOf(db, `select state from delivery where task_id = $1`, [taskId])).toEqual([
      { state: 'exhausted' },
    ]);
  });

  it('is 409 while the task runs, and changes nothing', async () => {
    const taskId = await aRunningTask(db, project);
    const before = await ask(`/api/v1/tasks/${taskId}`);
    expect(await ask(`/api/v1/tasks/${taskId}`, 'DELETE')).toMatchObject({
      status: 409,
      body: { error: { code: 'task_not_ended' } },
    });
    expect(await ask(`/api/v1/tasks/${taskId}`)).toEqual(before);
  });

  it("is 404 for another project's task, which stays, and for an unknown one", async () => {
    const taskId = await aRunningTask(db, project);
    await succeed(db, taskId);
    const other = await operator.project();
    expect(await ask(`/api/v1/tasks/${taskId}`, 'DELETE', other.apiKey)).toMatchObject(notFound);
    expect(await ask(`/api/v1/tasks/${newId('task')}`, 'DELETE')).toMatchObject(notFound);
    expect(await ask(`/api/v1/tasks/${taskId}`)).toMatchObject({ status: 200 });
  });

  it('leaves a file that a running task uses as its input, until the deadline of that task', async () => {
    const taskId = await aRunningTask(db, project);
    await succeed(db, taskId);
    const [used, unused] = [await aFile(taskId), await aFile(taskId)];
    await admitted(
      openLedger(db),
      newTask(project, 1, { input: { prompt: 'a fox', image: used }, deadlineSeconds: 60 }),
    );

    expect(await ask(`/api/v1/tasks/${taskId}`, 'DELETE')).toMatchObject({ status: 200 });

    expect(await findFile(db, unused)).toBeNull();
    const file = await findFile(db, used);
    expect(file?.expiresAt).toBeLessThan(Date.now() / 1_000 + 60 + 600 + 30);
  });
});

describe('the deliveries of a task', () => {
  it('are listed newest first with their tries, and without the URL', async () => {
    const taskId = await aRunningTask(db, project, hook);
    const firstId = await succeed(db, taskId);
    const token = newId('sec');
    const claim = await claimDelivery(db, { deliveryId: firstId, token, leaseSeconds: 60 });
    const failed = { state: 'pending', delaySeconds: 60, status: 500, errorClass: 'status' } as const;
    await endDeliveryTry(db, { ...failed, deliveryId: firstId, token, claimedAt: claim?.claimedAt ?? 0 });
    const again = { taskId, deliveryId: newId('dlv'), eventId: newId('evt'), limits: clientRedeliveries };
    expect(await startRedelivery(db, again)).toBe('started');

    const { status, body } = await ask(`/api/v1/tasks/${taskId}/deliveries`);

    expect([status, body]).toMatchObject([
      200,
      {
        object: 'list',
        has_more: false,
        next_cursor: null,
        data: [
          {
            delivery_id: again.deliveryId,
            object: 'delivery',
            event_id: again.eventId,
            state: 'pending',
            attempts: 0,
            tries: [],
          },
          {
            delivery_id: firstId,
            state: 'replaced',
            attempts: 1,
            last_status: 500,
            next_attempt_at: null,
            tries: [{ n: 1, status: 500, error: 'status', started_at: Math.floor(claim?.claimedAt ?? 0) }],
          },
        ],
      },
    ]);
    expect(JSON.stringify(body)).not.toContain('receiver.example');
    const page = await ask(`/api/v1/tasks/${taskId}/deliveries?limit=1`);
    expect(page.body['has_more']).toBe(true);
    const rest = await ask(`/api/v1/tasks/${taskId}/deliveries?limit=1&after=${String(page.body['next_cursor'])}`);
    expect(rest.body).toMatchObject({ data: [{ delivery_id: firstId }], has_more: false });
  });

  it("are 404 for another project's task, and none for a task without a callback", async () => {
    const taskId = await aRunningTask(db, project);
    const other = await operator.project();
    expect(await ask(`/api/v1/tasks/${taskId}/deliveries`, 'GET', other.apiKey)).toMatchObject(notFound);
    expect((await ask(`/api/v1/tasks/${taskId}/deliveries`)).body).toMatchObject({ data: [], has_more: false });
  });
});
