import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { EventSourceParserStream } from 'eventsource-parser/stream';
import { z } from 'zod';
import { deleteTask } from '../../../src/db/tasks.ts';
import type { Database } from '../../../src/db/database.ts';
import { streamWebhookEvents } from '../../../src/http/routes/webhook-events.ts';
import { createTaskWaits, type TaskWaits } from '../../../src/http/task-waits.ts';
import type { Built } from '../../../src/main/build-deps.ts';
import { verified, type Event } from '../../commands/callbacks/receiver.ts';
import { openLedger, rowsOf, taskEnd } from '../../db/books.ts';
import { buildQuietDeps } from '../../support/built-deps.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { aRunningTask, succeed } from '../../support/ended-task.ts';
import { eventually } from '../../support/eventually.ts';
import { quickSettings } from '../../support/gateway-settings.ts';
import { createOperator, type Operator, type TestProject } from '../../support/operator.ts';
import { startFrame, type Frame } from '../support.ts';

let scratch: TestDatabase;
let db: Database;
let built: Built;
let operator: Operator;
let project: TestProject;
let waits: TaskWaits;
let frame: Frame;

beforeAll(async () => {
  scratch = await createTestDatabase();
  db = await scratch.open();
  built = await buildQuietDeps(scratch.url);
  operator = createOperator(db, { ...quickSettings, DATABASE_URL: scratch.url, EGRESS_ALLOW_CIDRS: '' });
});
beforeEach(async () => {
  project = await operator.project();
  await startWith(4);
});
afterEach(async () => {
  waits.stop();
  await frame.close();
});
afterAll(async () => {
  await built?.close();
  await scratch?.drop();
});

const path = '/api/v1/webhooks/events';

/** A server with room for this many streams. */
async function startWith(total: number): Promise<void> {
  await frame?.close();
  waits = createTaskWaits({ total });
  const handler = streamWebhookEvents({ ...built.deps, taskWaits: waits });
  frame = await startFrame({
    routes: [
      {
        method: 'GET',
        path,
        auth: 'api_key',
        scopes: ['read'],
        dialect: 'openai',
        body: 'none',
        query: ['wait'],
        handler,
      },
    ],
    deps: { authenticate: (secret) => built.deps.keys.find(secret) },
  });
}

interface Received {
  id: string;
  type: string;
  data: { project_id?: string; headers?: Record<string, string>; body?: string };
}
const Data = z.object({
  project_id: z.string().optional(),
  headers: z.record(z.string(), z.string()).optional(),
  body: z.string().optional(),
});

const open = (query: string, lastEventId?: string, method = 'GET'): Promise<Response> =>
  fetch(`${frame.url}${path}${query}`, {
    method,
    headers: {
      authorization: `Bearer ${project.apiKey}`,
      ...(lastEventId !== undefined && { 'last-event-id': lastEventId }),
    },
  });

/** The events of a stream as they arrive, and a promise that resolves when it has ended. */
function listen(query = '', lastEventId?: string): { received: Received[]; ended: Promise<Received[]> } {
  const received: Received[] = [];
  const read = async (): Promise<Received[]> => {
    const answer = await open(query, lastEventId);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/event-stream; charset=utf-8']);
    const events = answer.body?.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream());
    for await (const { id = '', event = '', data } of events ?? [])
      received.push({ id, type: event, data: Data.parse(JSON.parse(data)) });
    return received;
  };
  return { received, ended: read() };
}
const has = (received: readonly Received[], count: number): Promise<unknown> =>
  eventually(() => Promise.resolve(received.length >= count), { what: `${count} events` });
/** The callback in an event, once its signature is verified as a receiver does. */
const callbackIn = ({ data: { headers = {}, body = '' } }: Received): Event =>
  verified({ method: 'POST', headers, body }, project.webhookSecret);
const taskIdsOf = (received: readonly Received[]): string[] =>
  received.filter(({ type }) => type !== 'listening').map((event) => callbackIn(event).data.task_id);
const anEndedTask = async (callbackUrl: string | null = null): Promise<string> => {
  const taskId = await aRunningTask(db, project, callbackUrl);
  await succeed(db, taskId);
  return taskId;
};

describe('the callbacks of a project', () => {
  it('arrive as they happen, signed with its secret, also of tasks without a callback URL', async () => {
    const before = await anEndedTask();
    const { received, ended } = listen();
    await has(received, 1);
    expect(received[0]).toMatchObject({ type: 'listening', data: { project_id: project.projectId } });
    const plain = await anEndedTask();
    const withUrl = await anEndedTask('https://hooks.example/end');
    const failed = await aRunningTask(db, project);
    await openLedger(db).finishTask(taskEnd(failed, 'failed'));
    await has(received, 4);
    expect(taskIdsOf(received)).toEqual([plain, withUrl, failed]);
    expect(taskIdsOf(received)).not.toContain(before);
    const [, , second, third] = received;
    if (!second || !third) throw new Error('an event is missing');
    // The id is that of the callback, so that a receiver of both ignores one.
    const rows = await rowsOf(db, 'select event_id from delivery where task_id = $1', [withUrl]);
    expect(rows).toEqual([{ eventId: callbackIn(second).id }]);
    expect(third).toMatchObject({ type: 'task.failed', data: { headers: { 'content-type': 'application/json' } } });
    expect(callbackIn(third)).toMatchObject({ type: 'task.failed', data: { status: 'failed' } });
    waits.stop();
    await ended;
  });

  it("are never another project's", async () => {
    const [mine, other] = [project, await operator.project()];
    const { received, ended } = listen();
    await has(received, 1);
    project = other;
    await anEndedTask();
    project = mine;
    const own = await anEndedTask();
    await has(received, 2);
    waits.stop();
    expect(taskIdsOf(await ended)).toEqual([own]);
  });

  it('resume after the last one that was received, with the same ids, and none is missed', async () => {
    const [start] = await listen('?wait=0').ended;
    const ids: string[] = [];
    for (let n = 0; n < 3; n++) ids.push(await anEndedTask());
    const all = await listen('?wait=0', start?.id).ended;
    expect(taskIdsOf(all)).toEqual(ids);
    const [, first] = all;
    const rest = await listen('?wait=0', first?.id).ended;
    expect(rest[0]).toMatchObject({ type: 'listening', id: first?.id });
    expect(taskIdsOf(rest)).toEqual(ids.slice(1));
    expect(rest.slice(1).map((event) => callbackIn(event).id)).toEqual(
      all.slice(2).map((event) => callbackIn(event).id),
    );
    expect(taskIdsOf(await listen('?wait=0', rest.at(-1)?.id).ended)).toEqual([]);
  });

  it('move on over other entries of the ledger, and leave deleted tasks out', async () => {
    const [start] = await listen('?wait=0').ended;
    const taskId = await anEndedTask();
    await operator.addCredits(project.projectId, 1);
    const [, event, end] = await listen('?wait=0', start?.id).ended;
    expect(event && taskIdsOf([event])).toEqual([taskId]);
    expect(end).toMatchObject({ type: 'listening', id: expect.not.stringMatching(event?.id ?? '') });
    await deleteTask(db, taskId);
    expect((await listen('?wait=0', start?.id).ended).map(({ type, id }) => [type, id])).toEqual([
      ['listening', start?.id],
      ['listening', end?.id],
    ]);
  });

  it('end after those that have happened if too many requests wait, and when the time is over', async () => {
    await startWith(1);
    const [start] = await listen('?wait=1').ended;
    const held = listen();
    await has(held.received, 1);
    const taskId = await anEndedTask();
    expect(taskIdsOf(await listen('', start?.id).ended)).toEqual([taskId]);
    waits.stop();
    await held.ended;
  });

  it('refuse a Last-Event-ID of another stream, and have no body for HEAD', async () => {
    const refused = await open('', 'succeeded');
    expect([refused.status, await refused.json()]).toMatchObject([
      400,
      { error: { code: 'invalid_value', param: 'Last-Event-ID' } },
    ]);
    const head = await open('', undefined, 'HEAD');
    expect([head.status, head.headers.get('content-type'), await head.text()]).toEqual([
      200,
      'text/event-stream; charset=utf-8',
      '',
    ]);
  });
});
