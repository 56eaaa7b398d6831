import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EventSourceParserStream } from 'eventsource-parser/stream';
import { z } from 'zod';
import { deleteTaskRow } from '../../../src/db/tasks/tasks.ts';
import type { Database } from '../../../src/db/database.ts';
import type { AppMiddleware } from '../../../src/http/context.ts';
import { webhookEventsRoute } from '../../../src/http/routes/webhook-events.ts';
import { createTaskWaits, type TaskWaits } from '../../../src/http/response/task-waits.ts';
import { listenToWebhooks } from '../../../src/main/cli/listen-webhooks.ts';
import { newId } from '../../../src/platform/crypto/ids.ts';
import { loopbackUrl } from '../../../src/admin/loopback-url.ts';
import {
  answer,
  inTurn,
  startReceiver,
  takeIt,
  verified,
  type Event,
  type Receiver,
} from '../../services/callbacks/receiver.ts';
import { admitted, newTask, openLedger, rowsOf, taskEnd } from '../../db/books.ts';
import { commandLine } from '../../support/command-line.ts';
import { aRunningTask, succeed } from '../../support/ended-task.ts';
import { eventually } from '../../support/eventually.ts';
import { informational } from '../../support/informational-answers.ts';
import { quickSettings } from '../../support/gateway-settings.ts';
import type { Operator, TestProject } from '../../support/operator.ts';
import type { Frame } from '../support.ts';
import { openRouteHome, type RouteHome } from './route-home.ts';

let home: RouteHome;
let db: Database;
let operator: Operator;
let project: TestProject;
let waits: TaskWaits;
let frame: Frame;
/** Of the streams. */
const sockets = new Set<Socket>();
let receiver: Receiver;
let settings: Record<string, string>;

beforeAll(async () => {
  receiver = await startReceiver();
  home = await openRouteHome();
  ({ db, operator } = home);
  settings = {
    ...quickSettings,
    DATABASE_URL: home.databaseUrl,
    SANDBOX_URL: 'http://127.0.0.1:9',
    FILES_LOCAL_DIR: join(tmpdir(), 'tollgate-no-files'),
  };
});
beforeEach(async () => {
  project = await operator.project();
  await startWith(4);
});
afterEach(() => waits.stop());
afterAll(async () => {
  await receiver?.close();
  await home?.close();
});

const path = '/api/v1/webhooks/events';

/** A server with room for this many streams. */
async function startWith(total: number): Promise<void> {
  waits = createTaskWaits({ total });
  const noteSocket: AppMiddleware = (ctx, next) => {
    sockets.add(ctx.req.socket);
    return next();
  };
  frame = await home.serve([{ ...webhookEventsRoute({ ...home.deps, taskWaits: waits }), beforeBody: [noteSocket] }]);
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

/** Tasks that ended in this order. */
async function manyEndedTasks(count: number): Promise<string[]> {
  const ledger = openLedger(db);
  const tasks = Array.from({ length: count }, () => newTask(project, 1, { taskId: newId('task') }));
  await Promise.all(tasks.map((task) => admitted(ledger, task)));
  await Promise.all(tasks.map(({ taskId }) => ledger.finishTask(taskEnd(taskId, 'failed'))));
  const ends = await rowsOf<{ taskId: string }>(
    db,
    `select request_id as task_id from ledger_entry where project_id = $1 and kind = 'refund' order by created_at, id`,
    [project.projectId],
  );
  return ends.map(({ taskId }) => taskId);
}

/** Entries that are not the end of a task. */
const manyEntries = (count: number): Promise<unknown> =>
  rowsOf(
    db,
    `insert into ledger_entry (project_id, kind, credits, balance_after, reference)
     select $1, 'topup', 1, 1, 'page ' || n from generate_series(1, $2) n`,
    [project.projectId, count],
  );

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
    await deleteTaskRow(db, taskId);
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

  it('come in pages if the request does not wait, however long the history is', async () => {
    project = await operator.project({ inFlightMax: null });
    const [start] = await listen('?wait=0').ended;
    const taskIds = await manyEndedTasks(230);
    const pages: string[][] = [];
    let last = start?.id;
    do {
      const page = await listen('?wait=0', last).ended;
      last = page.at(-1)?.id;
      pages.push(taskIdsOf(page));
    } while (pages.at(-1)?.length !== 0);
    expect(pages.map(({ length }) => length)).toEqual([100, 100, 30, 0]);
    expect(pages.flat()).toEqual(taskIds);
    await startWith(0);
    expect(taskIdsOf(await listen('', start?.id).ended)).toEqual(taskIds.slice(0, 100));
  });

  it('move on over entries of other requests, a bounded number in each request', async () => {
    const [start] = await listen('?wait=0').ended;
    await manyEntries(2_050);
    const taskId = await anEndedTask();
    const first = await listen('?wait=0', start?.id).ended;
    expect(taskIdsOf(first)).toEqual([]);
    expect(taskIdsOf(await listen('?wait=0', first.at(-1)?.id).ended)).toEqual([taskId]);
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

/** A listener of the project until it is stopped, and the lines that it has said. */
function passOn(target: string) {
  const stop = new AbortController();
  const lines: string[] = [];
  const counted = listenToWebhooks({
    baseUrl: frame.url,
    apiKey: project.apiKey,
    targets: loopbackUrl.parse(target),
    signal: stop.signal,
    say: (line) => lines.push(line),
  });
  return {
    lines,
    ended: counted,
    ready: () => eventually(() => Promise.resolve(lines.some((line) => line.includes(project.projectId)))),
    async stop() {
      stop.abort();
      return counted;
    },
  };
}
const calls = (name: string, count: number): Promise<Event[]> =>
  eventually(() => Promise.resolve(receiver.calls(name).length >= count && receiver.calls(name)), {
    what: `${count} calls`,
  }).then((received) => received.map((call) => verified(call, project.webhookSecret)));

describe('tollgate webhooks listen', () => {
  it('passes callbacks on as they were signed, over a lost connection, and counts those that are refused', async () => {
    const listener = passOn(
      receiver.at('heard', inTurn(takeIt, answer(500), takeIt)).replace('127.0.0.1', 'localhost'),
    );
    await listener.ready();
    const ids = [await anEndedTask(), await anEndedTask('https://hooks.example/end')];
    expect((await calls('heard', 2)).map(({ data }) => data.task_id)).toEqual(ids);
    // The listener connects again, after the last callback that it has passed on.
    for (const socket of sockets) socket.destroy();
    ids.push(await anEndedTask(), await anEndedTask());
    expect((await calls('heard', 4)).map(({ data }) => data.task_id)).toEqual(ids);
    expect(await listener.stop()).toEqual({ accepted: 3, refused: 1 });
    expect(listener.lines.filter((line) => / task\.succeeded evt_\w+ → (204|500)$/.test(line))).toHaveLength(4);
  });

  it('says that no server listens, and ends if the gateway refuses the key', async () => {
    const listener = passOn('http://127.0.0.1:1/');
    await listener.ready();
    await anEndedTask();
    await eventually(() => Promise.resolve(listener.lines.some((line) => line.endsWith('→ failed: connect'))));
    expect(await listener.stop()).toEqual({ accepted: 0, refused: 1 });
    project = { ...project, apiKey: `sk-${'x'.repeat(46)}` };
    await expect(passOn('http://127.0.0.1:1/').ended).rejects.toThrow('answered 401');
  });

  it.each([
    'http://192.0.2.1:3000/',
    'http://example.com/',
    'http://localhost.example.com/',
    'http://127.0.0.1.nip.io/',
    'https://127.0.0.1:3000/',
    'http://user@127.0.0.1/',
    'http://0.0.0.0:3000/',
    '127.0.0.1:3000',
  ])('forwards to this machine only, and refuses %s', async (target) => {
    const { tollgate } = commandLine(() => settings);
    const { code, printed } = await tollgate('webhooks', 'listen', '--forward', target);
    expect([code, printed]).toMatchObject([2, { error: { message: expect.stringContaining('--forward must be') } }]);
  });
});

describe('tollgate webhooks send-test', () => {
  const sendTest = (url: string, ...more: string[]) =>
    commandLine(() => settings).tollgate(
      'webhooks',
      'send-test',
      '--project',
      project.projectId,
      '--url',
      url,
      ...more,
    );

  it('sends a sample of each event, signed with the secret of the project', async () => {
    for (const type of ['task.succeeded', 'task.failed', 'task.canceled']) {
      const { code, printed } = await sendTest(receiver.at(type), '--event', type);
      expect([code, printed]).toMatchObject([0, { type, status: 204, error: null, ok: true }]);
      const [event] = await calls(type, 1);
      expect(event).toMatchObject({ id: printed['event_id'], type, data: { metadata: { sample: 'true' } } });
    }
  });

  it.each(informational)('accepts the answer of a receiver that sends %s before it', async (name, bytes) => {
    const url = receiver.at(`informed-${name.replaceAll(/\W/g, '-')}`, (response) => {
      response.socket?.write(bytes);
      response.writeHead(204).end();
    });
    expect(await sendTest(url)).toMatchObject({ code: 0, printed: { status: 204, ok: true } });
  });

  it('exits 1 if the sample is not accepted', async () => {
    const failed = await sendTest(receiver.at('broken', answer(500)));
    expect(failed).toMatchObject({ code: 1, printed: { status: 500, ok: false } });
    expect(await sendTest('http://127.0.0.1:1/')).toMatchObject({ code: 1, printed: { error: 'failed:connect' } });
  });

  it('refuses a URL that a callback may not have, and an unknown project', async () => {
    settings = { ...settings, EGRESS_ALLOW_CIDRS: '' };
    const { refused } = commandLine(() => settings);
    const args = ['webhooks', 'send-test', '--project', project.projectId, '--url'];
    expect(await refused(...args, receiver.at('private'))).toBe('The URL must be an https URL.');
    expect(receiver.calls('private')).toEqual([]);
    const unknown = ['webhooks', 'send-test', '--project', 'prj_none', '--url', 'https://hooks.example/end'];
    expect(await refused(...unknown)).toContain('prj_none');
  });
});
