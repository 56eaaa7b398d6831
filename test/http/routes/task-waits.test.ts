import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Database } from '../../../src/db/database.ts';
import { markSeen } from '../../../src/db/tasks/attempts.ts';
import { mediaRoutes } from '../../../src/http/routes/media.ts';
import { taskRoutes } from '../../../src/http/routes/tasks.ts';
import { createTaskWaits, type TaskWaits } from '../../../src/http/response/task-waits.ts';
import { attemptEndedOk, run, taskEnd } from '../../db/books.ts';
import { aRunningTask } from '../../support/ended-task.ts';
import { eventually } from '../../support/eventually.ts';
import type { Operator, TestProject } from '../../support/operator.ts';
import type { Frame } from '../support.ts';
import { openRouteHome, type RouteHome } from './route-home.ts';

let home: RouteHome;
let db: Database;
let frame: Frame;
let operator: Operator;
let project: TestProject;
let waits: TaskWaits;
/** Requests that hold a place. */
let waiting: number;

beforeAll(async () => {
  home = await openRouteHome();
  ({ db, operator } = home);
});
beforeEach(async () => {
  project = await operator.project();
  await startWith(4);
});
afterEach(() => waits.stop());
afterAll(() => home?.close());

/** A server with room for one request in flight and this many waits. */
async function startWith(total: number): Promise<void> {
  const slots = createTaskWaits({ total });
  waiting = 0;
  waits = {
    ...slots,
    enter(ctx) {
      const slot = slots.enter(ctx);
      if (slot === null) return null;
      waiting += 1;
      return {
        signal: slot.signal,
        leave() {
          waiting -= 1;
          slot.leave();
        },
      };
    },
  };
  const deps = { ...home.deps, taskWaits: waits };
  frame = await home.serve([...mediaRoutes(deps), ...taskRoutes(deps)], { HTTP_IN_FLIGHT_MAX: '1' });
}

interface Answer {
  status: number;
  body: Record<string, unknown>;
  retryAfter: string | null;
}
const send = (path: string, init: RequestInit = {}, key = project.apiKey): Promise<Response> =>
  fetch(frame.url + path, { ...init, headers: { authorization: `Bearer ${key}`, ...init.headers } });
const ask = async (path: string, init: RequestInit = {}, key = project.apiKey): Promise<Answer> => {
  const answer = await send(path, init, key);
  const retryAfter = answer.headers.get('retry-after');
  return { status: answer.status, body: (await answer.json()) as Answer['body'], retryAfter };
};
const create = (query: string, idempotencyKey: string): Promise<Answer> =>
  ask(`/api/v1/images/generate${query}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'idempotency-key': idempotencyKey },
    body: JSON.stringify({ model: 'aurora-image-1', prompt: 'a red fox' }),
  });
const succeed = async (taskId: string): Promise<void> => {
  await attemptEndedOk(db, taskId);
  await home.deps.ledger.finishTask(taskEnd(taskId, 'succeeded'));
};
const until = (count: number) => eventually(() => Promise.resolve(waiting === count), { what: `${count} waits` });

describe('a read with wait', () => {
  it('is answered when the task ends, and holds no place of the requests in flight meanwhile', async () => {
    const taskId = await aRunningTask(db, project);
    const answer = ask(`/api/v1/tasks/${taskId}?wait=60`);
    await until(1);
    // The server handles one request at a time.
    expect((await ask(`/api/v1/tasks/${taskId}`)).body).toMatchObject({ status: 'queued' });
    await succeed(taskId);
    expect(await answer).toMatchObject({ status: 200, body: { task_id: taskId, status: 'succeeded' } });
    await until(0);
  });

  it('is answered with the task as it is when the time is over, and at once for a task that has ended', async () => {
    const taskId = await aRunningTask(db, project);
    const running = { status: 200, body: { status: 'queued' }, retryAfter: null };
    expect(await ask(`/api/v1/tasks/${taskId}?wait=1`)).toMatchObject(running);
    expect(await ask(`/api/v1/tasks/${taskId}?wait=0`)).toMatchObject(running);
    await succeed(taskId);
    expect(await ask(`/api/v1/tasks/${taskId}?wait=60`)).toMatchObject({ status: 200, body: { status: 'succeeded' } });
    expect(waiting).toBe(0);
  });

  it('sees an end that was not announced', async () => {
    const taskId = await aRunningTask(db, project);
    const answer = ask(`/api/v1/tasks/${taskId}?wait=60`);
    await until(1);
    await attemptEndedOk(db, taskId);
    await run(db, 'select * from finish_tasks($1::jsonb)', [
      JSON.stringify([
        { task_id: taskId, status: 'succeeded', retention_seconds: 60, delivery_id: 'dlv_1', event_id: 'evt_1' },
      ]),
    ]);
    expect(await answer).toMatchObject({ body: { status: 'succeeded' } });
  });

  it.each(['61', '-1', '1.5', 'long'])('refuses %s seconds', async (seconds) => {
    const taskId = await aRunningTask(db, project);
    expect(await ask(`/api/v1/tasks/${taskId}?wait=${seconds}`)).toMatchObject({
      status: 400,
      body: {
        error: {
          code: 'invalid_value',
          param: 'wait',
          message: `wait: ${seconds} is not a whole number from 0 to 60.`,
        },
      },
    });
  });

  it("is 404 at once for another project's task", async () => {
    const taskId = await aRunningTask(db, await operator.project());
    for (const path of [`/api/v1/tasks/${taskId}?wait=60`, `/api/v1/tasks/${taskId}/events`])
      expect(await ask(path)).toMatchObject({ status: 404, body: { error: { code: 'task_not_found' } } });
  });

  it('frees its place when the client disconnects', async () => {
    const taskId = await aRunningTask(db, project);
    const leaving = new AbortController();
    const gone = send(`/api/v1/tasks/${taskId}?wait=60`, { signal: leaving.signal }).catch(() => 'gone');
    await until(1);
    leaving.abort();
    expect(await gone).toBe('gone');
    await until(0);
  });

  it('is answered at once beyond the share of its project, with the time to ask again, and another project still waits', async () => {
    await startWith(8);
    const other = await operator.project();
    const taskId = await aRunningTask(db, project);
    const foreign = await aRunningTask(db, other);
    const answers: Promise<Answer>[] = [];
    // One project may take more than a quarter of the eight places as long as a quarter of them is free.
    for (let held = 1; held <= 7; held++) {
      answers.push(ask(`/api/v1/tasks/${taskId}?wait=60`));
      await until(held);
    }
    const refused = { status: 200, body: { status: 'queued' }, retryAfter: '2' };
    expect(await ask(`/api/v1/tasks/${taskId}?wait=60`)).toMatchObject(refused);
    const others = ask(`/api/v1/tasks/${foreign}?wait=60`, {}, other.apiKey);
    await until(8);
    await succeed(foreign);
    expect(await others).toMatchObject({ body: { status: 'succeeded' } });
    await succeed(taskId);
    await Promise.all(answers);
  });

  it('is answered with the task as it is when the server stops', async () => {
    const taskId = await aRunningTask(db, project);
    const answer = ask(`/api/v1/tasks/${taskId}?wait=60`);
    await until(1);
    waits.stop();
    const running = { status: 200, body: { status: 'queued' }, retryAfter: '2' };
    expect(await answer).toMatchObject(running);
    expect(await ask(`/api/v1/tasks/${taskId}?wait=60`)).toMatchObject(running);
  });
});

describe('a create with wait', () => {
  it('is 200 with the ended task, and so is its replay, which waits for the same task', async () => {
    const first = create('?wait=60', 'once');
    await until(1);
    const second = create('?wait=60', 'once');
    await until(2);
    const rows = await db.query<{ id: string }>('', 'select id from task where project_id = $1', [project.projectId]);
    expect(rows).toHaveLength(1);
    await succeed(rows[0]?.id ?? '');
    for (const answer of [await first, await second, await create('?wait=60', 'once')])
      expect(answer).toMatchObject({ status: 200, body: { task_id: rows[0]?.id, status: 'succeeded' } });
    // Without wait, a create stays 202.
    expect(await create('', 'once')).toMatchObject({ status: 202, body: { status: 'succeeded' } });
  });

  it('is 202 with the running task when the time is over', async () => {
    expect(await create('?wait=1', 'late')).toMatchObject({ status: 202, body: { status: 'queued' } });
  });

  it('buys nothing if the seconds are refused', async () => {
    expect(await create('?wait=99', 'refused')).toMatchObject({ status: 400 });
    expect(await db.query('', 'select from task where project_id = $1', [project.projectId])).toEqual([]);
  });
});

interface TaskEvent {
  id: string;
  event: string;
  data: { task_id: string; status: string; progress: number | null };
}

/** The events of a stream as they arrive, and a promise of all of them. */
function listen(
  taskId: string,
  lastEventId?: string,
): { events: TaskEvent[]; ended: Promise<TaskEvent[]>; text: () => string } {
  const events: TaskEvent[] = [];
  let text = '';
  const read = async (): Promise<TaskEvent[]> => {
    const answer = await send(
      `/api/v1/tasks/${taskId}/events`,
      lastEventId === undefined ? {} : { headers: { 'last-event-id': lastEventId } },
    );
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/event-stream; charset=utf-8']);
    let rest = '';
    for await (const chunk of answer.body ?? []) {
      const piece = Buffer.from(chunk as Uint8Array).toString();
      text += piece;
      const parts = (rest + piece).split('\n\n');
      rest = parts.pop() ?? '';
      for (const part of parts) {
        const fields = new Map(
          part.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
        );
        const data = fields.get('data');
        if (data === undefined) continue;
        events.push({
          id: fields.get('id') ?? '',
          event: fields.get('event') ?? '',
          data: JSON.parse(data) as TaskEvent['data'],
        });
      }
    }
    return events;
  };
  return { events, ended: read(), text: () => text };
}
const has = (events: TaskEvent[], count: number) =>
  eventually(() => Promise.resolve(events.length >= count), { what: `${count} events` });
const shown = (events: readonly TaskEvent[]) => events.map(({ event, data }) => [event, data.status, data.progress]);

describe('the events of a task', () => {
  it('are the task now, after each change and at its end, which ends the stream', async () => {
    const taskId = await aRunningTask(db, project);
    const { events, ended, text } = listen(taskId);
    await has(events, 1);
    await run(db, `update task set status = 'processing', attempts = 1 where id = $1`, [taskId]);
    await has(events, 2);
    await markSeen(db, taskId, 40);
    await has(events, 3);
    await succeed(taskId);
    expect(shown(await ended)).toEqual([
      ['task.updated', 'queued', null],
      ['task.updated', 'processing', null],
      ['task.updated', 'processing', 40],
      ['task.succeeded', 'succeeded', 100],
    ]);
    expect(events.at(-1)?.data).toEqual((await ask(`/api/v1/tasks/${taskId}`)).body);
    expect(text()).toMatch(/^retry: \d+\n\n/);
    await until(0);
  });

  it('resume after the last one that the client received, and tell a client that has the end not to ask again', async () => {
    const taskId = await aRunningTask(db, project);
    const first = listen(taskId);
    await has(first.events, 1);
    const second = listen(taskId, first.events[0]?.id);
    await until(2);
    await home.deps.ledger.finishTask(taskEnd(taskId, 'failed'));
    expect(shown(await second.ended)).toEqual([['task.failed', 'failed', null]]);
    await first.ended;
    expect(shown(await listen(taskId, first.events[0]?.id).ended)).toEqual([['task.failed', 'failed', null]]);
    const last = first.events.at(-1)?.id ?? '';
    expect((await send(`/api/v1/tasks/${taskId}/events`, { headers: { 'last-event-id': last } })).status).toBe(204);
  });

  it('end after the first one if too many requests wait, and when the server stops', async () => {
    await startWith(1);
    const taskId = await aRunningTask(db, project);
    const held = listen(taskId);
    await has(held.events, 1);
    expect(shown(await listen(taskId).ended)).toEqual([['task.updated', 'queued', null]]);
    waits.stop();
    expect(shown(await held.ended)).toEqual([['task.updated', 'queued', null]]);
  });

  it('free their place when the client disconnects', async () => {
    const taskId = await aRunningTask(db, project);
    const leaving = new AbortController();
    const answer = await send(`/api/v1/tasks/${taskId}/events`, { signal: leaving.signal });
    await until(1);
    leaving.abort();
    await answer.text().catch(() => undefined);
    await until(0);
  });

  it('have no body for HEAD', async () => {
    const taskId = await aRunningTask(db, project);
    const answer = await send(`/api/v1/tasks/${taskId}/events`, { method: 'HEAD' });
    expect([answer.status, answer.headers.get('content-type'), await answer.text()]).toEqual([
      200,
      'text/event-stream; charset=utf-8',
      '',
    ]);
  });
});
