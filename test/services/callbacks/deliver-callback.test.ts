import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { rotateProjectSecret } from '../../../src/services/projects/project-secret.ts';
import { testConfig } from '../../support/test-config.ts';
import { createSealer } from '../../../src/platform/crypto/seal.ts';
import { mediaRoutes, type Task } from '../../support/api-client.ts';
import { eventually } from '../../support/eventually.ts';
import { startGateway, type Gateway, type TestProject } from '../../support/gateway.ts';
import { informational } from '../../support/informational-answers.ts';
import { entriesOf } from '../../support/rows.ts';
import {
  answer,
  inTurn,
  quickCallbacks,
  startReceiver,
  takeIt,
  verified,
  type Behaviour,
  type Receiver,
} from './receiver.ts';
import { spec } from '../../spec/spec.ts';

let gateway: Gateway;
let receiver: Receiver;
/** Has a self-signed certificate, which the gateway must not trust. */
let selfSigned: Receiver;
/** The target of a redirect, which must receive no connection. */
let sentinel: Receiver;
let project: TestProject;
/** The callbacks that are retried. They start together, each with a path of its own, so that their waits overlap. */
let slow: Record<
  | 'refusing'
  | 'redirecting'
  | 'selfSigned'
  | 'notListening'
  | 'refusingOnce'
  | 'refusingThrice'
  | 'askingForTomorrow'
  | 'hanging'
  | 'drippingHeaders'
  | 'closing'
  | 'drippingBody'
  | 'unreadable',
  Promise<Delivered>
>;
beforeAll(async () => {
  const fixture = (name: string) =>
    readFileSync(new URL(`../../platform/egress/fixtures/${name}`, import.meta.url), 'utf8');
  receiver = await startReceiver();
  sentinel = await startReceiver();
  selfSigned = await startReceiver({
    tls: { cert: fixture('receiver-certificate.pem'), key: fixture('receiver-key.pem') },
  });
  gateway = await startGateway({ env: { ...quickCallbacks, CALLBACK_LEASE_SECONDS: '60' } });
  project = await gateway.project({ credits: 10_000 });
  slow = {
    refusing: deliver('a fox', answer(500)),
    redirecting: deliver('a fox', answer(302, { location: sentinel.at('secret') })),
    selfSigned: deliver('a fox', takeIt, { to: selfSigned }),
    notListening: deliver('a fox', takeIt, { to: { at: (name) => `http://127.0.0.1:1/${name}` } }),
    refusingOnce: deliver('a fox', inTurn(...Array.from({ length: 8 }, () => answer(500)), afterRedeliver)),
    refusingThrice: deliver('a fox', inTurn(answer(500), answer(503), answer(404), takeIt)),
    askingForTomorrow: deliver('a fox', inTurn(answer(429, { 'retry-after': '86400' }), takeIt)),
    hanging: deliver(
      'a fox',
      inTurn(() => undefined, takeIt),
    ),
    drippingHeaders: deliver('a fox', inTurn(dripHeaders, takeIt)),
    closing: deliver(
      'a fox',
      inTurn((response) => void response.destroy(), takeIt),
    ),
    drippingBody: deliver('a fox', (response) => repeat(response.writeHead(200), () => response.write('x'))),
    unreadable: deliver('a fox', takeIt, { apiKey: await keyWithoutSecret() }),
  };
  for (const one of Object.values(slow)) one.catch(() => undefined);
});
afterAll(async () => {
  await gateway.stop();
  await Promise.all([receiver, sentinel, selfSigned].map((server) => server.close()));
});
// No callback may change the ledger.
afterEach(async () => expect(await gateway.verifyLedger()).toMatchObject({ ok: true }));

describe('a callback', () => {
  it('is one signed POST with the task exactly as a poll returns it, URLs included', async () => {
    spec('6 payload and signature');
    const { name, task } = await deliver('a fox');
    expect(task.callback).toEqual({ state: 'delivered', attempts: 1, last_status: 204, next_attempt_at: null });
    const calls = receiver.calls(name);
    expect(calls).toHaveLength(1);
    const [call] = calls;
    const event = verified(call!, project.webhookSecret);
    const { callback: _now, ...polled } = task;
    const { callback: _then, ...data } = event.data;
    expect(data).toEqual(polled);
    expect(event.type).toBe('task.succeeded');
    expect(event.id).toBe(call?.headers['webhook-id']);
    // The id of the task, so that a database that was restored to a time before the end of the task repeats it.
    expect(event.id).toBe(task.task_id.replace(/^task_/, 'evt_'));
    expect(Date.parse(event.timestamp)).toBe((task.completed_at ?? 0) * 1_000);
    expect(call).toMatchObject({
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-request-id': task.request_id },
    });
    expect(data.output?.[0]?.url).toMatch(new RegExp(`^${gateway.baseUrl}/files/`));
  });

  it('has the type task.failed, the error and the refund when the task fails', async () => {
    const { name, task } = await deliver('a fox [[fail=refused]]');
    const event = verified(receiver.calls(name)[0]!, project.webhookSecret);
    expect(event).toMatchObject({
      type: 'task.failed',
      data: {
        task_id: task.task_id,
        status: 'failed',
        output: null,
        error: { code: 'content_policy_violation' },
        credits: { charged: 0 },
      },
    });
  });

  it('has the type task.canceled after a cancel', async () => {
    spec('3 other task states');
    const name = randomUUID();
    const taskId = await create('a fox [[fail=never]]', receiver.at(name));
    await eventually(async () => (await gateway.hits(name, 'submit')).length > 0);
    expect((await post(`/api/v1/tasks/${taskId}/cancel`)).status).toBe(200);
    const task = await callbackOver(taskId);
    expect(task).toMatchObject({ status: 'canceled', callback: { state: 'delivered' } });
    expect(verified(receiver.calls(name)[0]!, project.webhookSecret)).toMatchObject({
      type: 'task.canceled',
      data: { status: 'canceled' },
    });
  });

  it('is sent a fourth time after three failures, each time with the same id, equal bytes and a valid signature', async () => {
    spec('6 delivery failures');
    const { name, task } = await slow.refusingThrice;
    expect(task.callback).toMatchObject({ state: 'delivered', attempts: 4, last_status: 204 });
    const calls = receiver.calls(name);
    expect(calls).toHaveLength(4);
    expect(new Set(calls.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
    expect(new Set(calls.map(({ body }) => body)).size).toBe(1);
    for (const call of calls) expect(verified(call, project.webhookSecret).data.status).toBe('succeeded');
    expect(await tries(task)).toEqual([500, 503, 404, 204].map((status) => ({ status, errorClass: null })));
  });

  it('is given up after eight tries, and the task and its charge do not change', async () => {
    spec('3 failed callback', '6 retries and giving up');
    const { name, task } = await slow.refusing;
    expect(task).toMatchObject({
      status: 'succeeded',
      callback: { state: 'exhausted', attempts: 8, last_status: 500, next_attempt_at: null },
    });
    expect(receiver.calls(name)).toHaveLength(8);
    expect(await entriesOf(gateway.database, task.task_id)).toEqual({ settle: 1 });
    expect(task.credits).toMatchObject({ charged: 4, refunded: 0 });
  });

  it('does not follow a redirect: the target receives no connection', async () => {
    const { name, task } = await slow.redirecting;
    expect(task.callback).toMatchObject({ state: 'exhausted', attempts: 8, last_status: 302 });
    expect(receiver.calls(name)).toHaveLength(8);
    expect(sentinel.connections()).toBe(0);
  });

  it('stops at 410', async () => {
    spec('6 retries and giving up');
    const { name, task } = await deliver('a fox', answer(410));
    expect(task.callback).toMatchObject({ state: 'gone', attempts: 1, last_status: 410, next_attempt_at: null });
    expect(receiver.calls(name)).toHaveLength(1);
  });

  it('is retried after at most two steps of the schedule if Retry-After names a day', async () => {
    const { task } = await slow.askingForTomorrow;
    expect(task.callback).toMatchObject({ state: 'delivered', attempts: 2 });
    expect((await tries(task))[0]).toEqual({ status: 429, errorClass: null });
  });
});

describe('a callback whose secret cannot be decrypted', () => {
  it('is tried eight times by its workflow, then given up, and the task and its charge do not change', async () => {
    const { name, task } = await slow.unreadable;
    expect(task).toMatchObject({
      status: 'succeeded',
      callback: { state: 'exhausted', attempts: 8, last_status: null, next_attempt_at: null },
      credits: { charged: 4, refunded: 0 },
    });
    expect(await tries(task)).toEqual(
      Array.from({ length: 8 }, () => ({ status: null, errorClass: 'unsendable:secret' })),
    );
    expect(receiver.calls(name)).toHaveLength(0);
  });
});

describe('a callback to a misbehaving receiver', () => {
  it('is retried if the receiver does not answer', async () => {
    const { task } = await slow.hanging;
    expect(task.callback).toMatchObject({ state: 'delivered', attempts: 2 });
    expect((await tries(task))[0]).toEqual({ status: null, errorClass: 'failed:timeout' });
  });

  it('is retried if the receiver sends its headers one byte at a time', async () => {
    const { task } = await slow.drippingHeaders;
    expect(task.callback).toMatchObject({ state: 'delivered', attempts: 2 });
    expect((await tries(task))[0]).toEqual({ status: null, errorClass: 'failed:timeout' });
  });

  it('accepts the status of an answer with 100 kB of headers, and is retried after one with 1 MB', async () => {
    const long = (bytes: number) => answer(200, { 'x-long': 'x'.repeat(bytes) });
    expect((await deliver('a fox', long(100_000))).task.callback).toMatchObject({
      state: 'delivered',
      attempts: 1,
      last_status: 200,
    });
    const { task } = await deliver('a fox', inTurn(long(1_000_000), takeIt));
    expect(task.callback).toMatchObject({ state: 'delivered', attempts: 2, last_status: 204 });
  });

  it('is retried if the receiver closes the connection without an answer', async () => {
    const { task } = await slow.closing;
    expect(task.callback).toMatchObject({ state: 'delivered', attempts: 2 });
    expect((await tries(task))[0]).toEqual({ status: null, errorClass: 'failed:reset' });
  });

  it('cuts off an endless 200 answer and counts its status', async () => {
    const closed = Promise.withResolvers<number>();
    const { task } = await deliver('a fox', (response) => {
      void streamEndlessly(response, 200).then(closed.resolve);
    });
    expect(task.callback).toMatchObject({ state: 'delivered', attempts: 1, last_status: 200 });
    // The receiver wrote only as much as the buffers of two sockets hold.
    expect(await closed.promise).toBeLessThan(endlessBytes);
  });

  it('cuts off an endless 500 answer and counts its status', async () => {
    const { task } = await deliver(
      'a fox',
      inTurn((response) => void streamEndlessly(response, 500), takeIt),
    );
    expect(task.callback).toMatchObject({ state: 'delivered', attempts: 2 });
    expect((await tries(task))[0]).toMatchObject({ status: 500 });
  });

  it.each(informational)(
    'is delivered at the first try to a receiver that sends %s before its answer',
    async (name, bytes) => {
      const delivered = await deliver('a fox', (response) => {
        response.socket?.write(bytes);
        response.writeHead(204).end();
      });
      expect({ name, ...delivered.task.callback }).toMatchObject({ state: 'delivered', attempts: 1, last_status: 204 });
      expect(receiver.calls(delivered.name)).toHaveLength(1);
    },
  );

  it('is delivered if the receiver sends its body one byte at a time', async () => {
    const { task } = await slow.drippingBody;
    expect(task.callback).toMatchObject({ state: 'delivered', attempts: 1, last_status: 200 });
  });

  it('is retried, and sends nothing, if the receiver has a self-signed certificate', async () => {
    const { name, task } = await slow.selfSigned;
    expect(task.callback).toMatchObject({ state: 'exhausted', attempts: 8, last_status: null });
    expect(await tries(task)).toEqual(Array.from({ length: 8 }, () => ({ status: null, errorClass: 'failed:tls' })));
    expect(selfSigned.calls(name)).toHaveLength(0);
  });

  it('is tried eight times, then given up, if the receiver is not listening', async () => {
    const { task } = await slow.notListening;
    expect(task).toMatchObject({
      status: 'succeeded',
      callback: { state: 'exhausted', attempts: 8, last_status: null },
    });
    expect((await tries(task))[0]).toEqual({ status: null, errorClass: 'failed:connect' });
  });
});

describe('the rotation of a callback secret', () => {
  it('signs with both secrets during the overlap, then with the new one alone', async () => {
    const { apiKey, projectId, webhookSecret: old } = await gateway.project();
    const config = testConfig(gateway.env);
    const deps = { config, db: gateway.database, sealer: createSealer(config.secrets.masterKeys) };
    const { webhookSecret: fresh } = await rotateProjectSecret(deps, { projectId, actor: 'test' });
    expect(fresh).not.toBe(old);

    const during = await deliver('a fox', takeIt, { apiKey });
    const [both] = receiver.calls(during.name);
    expect(both?.headers['webhook-signature']?.match(/\bv1,/g)).toHaveLength(2);
    for (const secret of [old, fresh]) expect(verified(both!, secret).data.task_id).toBe(during.task.task_id);

    await gateway.database.query(
      'test-end-overlap',
      `update project set callback_secret_previous_until = clock_timestamp() - interval '1 s' where id = $1`,
      [projectId],
    );
    const after = await deliver('a fox', takeIt, { apiKey });
    const [one] = receiver.calls(after.name);
    expect(verified(one!, fresh).data.task_id).toBe(after.task.task_id);
    expect(() => verified(one!, old)).toThrow();
  });

  it("does not affect another project's secret", async () => {
    const other = await gateway.project();
    const { name } = await deliver('a fox', takeIt, { apiKey: other.apiKey });
    expect(() => verified(receiver.calls(name)[0]!, project.webhookSecret)).toThrow();
    expect(verified(receiver.calls(name)[0]!, other.webhookSecret).type).toBe('task.succeeded');
  });
});

describe('a redelivered callback', () => {
  it('is sent under a new id, and the task and its credits do not change', async () => {
    const { name, task } = await slow.refusingOnce;
    expect(task.callback?.state).toBe('exhausted');
    const again = await post(`/api/v1/tasks/${task.task_id}/callback/redeliver`);
    redeliverAnswered.resolve();
    expect(again).toMatchObject({
      status: 202,
      body: { task_id: task.task_id, callback: { state: 'pending', attempts: 0 } },
    });
    const delivered = await callbackOver(task.task_id);
    expect(delivered.callback).toMatchObject({ state: 'delivered', attempts: 1 });
    const calls = receiver.calls(name);
    expect(calls).toHaveLength(9);
    expect(new Set(calls.map(({ headers }) => headers['webhook-id'])).size).toBe(2);
    const last = verified(calls[8]!, project.webhookSecret);
    // The first call may be older than the library accepts.
    expect(last.id).not.toBe(calls[0]!.headers['webhook-id']);
    expect({ ...last.data, callback: null }).toEqual({ ...task, callback: null });
    expect(await entriesOf(gateway.database, task.task_id)).toEqual({ settle: 1 });
  });

  it('replaces a callback that still waits for its next try', async () => {
    const name = randomUUID();
    const idsSoFar = () => receiver.calls(name).map(({ headers }) => headers['webhook-id']);
    const replaced = Promise.withResolvers<void>();
    const taskId = await create(
      'a fox',
      receiver.at(name, (response, n, { headers }) => {
        if (headers['webhook-id'] !== idsSoFar()[0]) response.writeHead(204).end();
        // Of the first callback no try after the second ends before it is replaced, so that it is never given up.
        else void (n > 2 ? replaced.promise : Promise.resolve()).then(() => response.writeHead(500).end());
      }),
    );
    await eventually(() => Promise.resolve(receiver.calls(name).length >= 2));
    expect((await post(`/api/v1/tasks/${taskId}/callback/redeliver`)).status).toBe(202);
    replaced.resolve();
    const task = await callbackOver(taskId);
    expect(task.callback).toMatchObject({ state: 'delivered', attempts: 1 });
    expect(new Set(idsSoFar()).size).toBe(2);
    const states = await gateway.database.query<{ state: string }>(
      'test-states',
      'select state from delivery where task_id = $1 order by created_at',
      [taskId],
    );
    expect(states).toEqual([{ state: 'replaced' }, { state: 'delivered' }]);
  });

  it('is refused with 429 for ten seconds after the last time, and while too many others of its project run', async () => {
    const { task } = await deliver('a fox');
    const path = `/api/v1/tasks/${task.task_id}/callback/redeliver`;
    expect((await post(path)).status).toBe(202);
    const tooSoon = await post(path);
    expect(tooSoon).toMatchObject({ status: 429, body: { error: { code: 'rate_limit_exceeded' } } });
    await callbackOver(task.task_id);

    const other = await gateway.project();
    const theirs = await deliver('a fox', takeIt, { apiKey: other.apiKey });
    const { database } = gateway;
    await database.query(
      'test-redeliveries',
      `insert into delivery (id, task_id, project_id, event_id, url, next_attempt_at, workflow_id)
       select 'dlv_' || n, $1, $2, 'evt_' || n, 'https://example.com', clock_timestamp() + interval '1 day', 'dlv_' || n
       from generate_series(1, 100) n`,
      [theirs.task.task_id, other.projectId],
    );
    await database.query('test-age', `update delivery set created_at = created_at - interval '1 min'`);
    const tooMany = await post(`/api/v1/tasks/${theirs.task.task_id}/callback/redeliver`, other.apiKey);
    expect(tooMany).toMatchObject({ status: 429, body: { error: { code: 'rate_limit_exceeded' } } });
    expect((await post(path)).status).toBe(202);
    await callbackOver(task.task_id);
  });

  it('is refused with 409 task_content_erased once the content is erased', async () => {
    const { name, task } = await deliver('a fox');
    await gateway.database.query(
      'test-expire',
      `update task set expires_at = clock_timestamp() - interval '1 s' where id = $1`,
      [task.task_id],
    );
    const again = await post(`/api/v1/tasks/${task.task_id}/callback/redeliver`);
    expect(again).toMatchObject({ status: 409, body: { error: { code: 'task_content_erased' } } });
    expect(receiver.calls(name)).toHaveLength(1);
  });

  it('is refused with 409 for a task without a callback and for a running task, and with 404 for another project', async () => {
    const without = await gateway.accept(project.apiKey, mediaRoutes.image, { model, prompt: 'a fox' });
    await gateway.poll(project.apiKey, without);
    const running = await create('a fox [[fail=never]]', receiver.at(randomUUID()));
    for (const [taskId, code] of [
      [without, 'task_without_callback'],
      [running, 'task_not_ended'],
    ]) {
      expect(await post(`/api/v1/tasks/${taskId}/callback/redeliver`)).toMatchObject({
        status: 409,
        body: { error: { code } },
      });
    }
    const otherProject = await gateway.project();
    const foreign = await post(`/api/v1/tasks/${without}/callback/redeliver`, otherProject.apiKey);
    expect(foreign).toMatchObject({ status: 404, body: { error: { code: 'task_not_found' } } });
  });
});

const model = 'aurora-image-1';

/** Accepts the redelivered callback only after the redeliver request was answered, so that the answer shows it as pending. */
const redeliverAnswered = Promise.withResolvers<void>();
const afterRedeliver: Behaviour = (response) =>
  void redeliverAnswered.promise.then(() => response.writeHead(204).end());

/** Creates a task with a callback to a path of its own, and waits until the task and its callback have ended. */
async function deliver(
  prompt: string,
  behaviour: Behaviour = takeIt,
  { apiKey = project.apiKey, to = receiver }: { apiKey?: string; to?: Pick<Receiver, 'at'> } = {},
): Promise<Delivered> {
  const name = randomUUID();
  const url = to.at(name, behaviour);
  return { name, task: await callbackOver(await create(prompt, url, apiKey), apiKey) };
}

/** The key of a project whose callback secret was sealed with a missing master key. */
async function keyWithoutSecret(): Promise<string> {
  const { projectId, apiKey } = await gateway.project();
  await gateway.database.query(
    'test-lose-secret',
    `update project set callback_secret = regexp_replace(callback_secret, '^v2[.][^.]+', 'v2.gone') where id = $1`,
    [projectId],
  );
  return apiKey;
}

interface Delivered {
  /** The last part of the receiver's URL and a word of the prompt. */
  name: string;
  task: Task;
}

/** The prompt contains the last part of the URL, so that the test can find the sandbox's hits by it. */
const create = (prompt: string, url: string, apiKey = project.apiKey): Promise<string> =>
  gateway.accept(apiKey, mediaRoutes.image, { model, prompt: `${prompt} ${url.split('/').at(-1)}`, callback_url: url });

const callbackOver = (taskId: string, apiKey = project.apiKey): Promise<Task> =>
  gateway.poll(apiKey, taskId, {
    until: ({ status, callback }) => status !== 'processing' && callback !== null && callback.state !== 'pending',
  });

const post = (path: string, apiKey = project.apiKey) => gateway.create(apiKey, path, '');

/** The tries of all deliveries of a task. */
const tries = (task: Task): Promise<{ status: number | null; errorClass: string | null }[]> =>
  gateway.database.query<{ status: number | null; errorClass: string | null }>(
    'test-tries',
    `select a.status, a.error_class from delivery_attempt a join delivery d on d.id = a.delivery_id
     where d.task_id = $1 order by a.n`,
    [task.task_id],
  );

const endlessBytes = 200_000_000;

/** Writes until the client closes the connection; resolves with the number of bytes written. */
async function streamEndlessly(response: ServerResponse, status: number): Promise<number> {
  const chunk = Buffer.alloc(64_000, 'x');
  let written = 0;
  const source = Readable.from(
    (function* () {
      for (; written < endlessBytes; written += chunk.length) yield chunk;
    })(),
  );
  await pipeline(source, response.writeHead(status)).catch(() => undefined);
  return written;
}

/** Writes again and again, so that the answer outlasts the callback timeout. */
function repeat(response: ServerResponse, write: () => void): void {
  const timer = setInterval(write, 200);
  response.once('close', () => clearInterval(timer));
}

const dripHeaders: Behaviour = (response) => {
  response.socket?.write('HTTP/1.1 200 OK\r\nx-slow: ');
  repeat(response, () => response.socket?.write('x'));
};
