import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import {
  isEnded,
  Tollgate,
  TollgateConnectionError,
  TollgateError,
  verifyWebhook,
  verifyWebhookByPublicKey,
  WebhookVerificationError,
  type Task,
  type TaskEvent,
  type WebhookKey,
} from '../../packages/tollgate-js/src/index.ts';
import { startReceiver } from '../services/callbacks/receiver.ts';
import { eventually } from '../support/eventually.ts';
import { startGateway, type Gateway, type TestProject } from '../support/gateway.ts';
import { countRows } from '../support/rows.ts';
import { urlOf, watchPolls } from './watch-polls.ts';

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({ env: { RATE_LIMIT_REST_SECONDS: '12' } });
});
afterAll(() => gateway?.stop());

type Fetch = typeof globalThis.fetch;

let project: TestProject;
let client: Tollgate;

const fox = { model: 'aurora-image-1', prompt: 'a red fox' };
const clientWith = (own: Fetch): Tollgate =>
  new Tollgate({ baseUrl: gateway.baseUrl, apiKey: project.apiKey, fetch: own });
/** A client of a server that gives these answers in turn, and the requests that it received. */
function clientOf(...answers: (() => Response)[]): {
  scripted: Tollgate;
  received: { url: string; init: RequestInit }[];
} {
  const received: { url: string; init: RequestInit }[] = [];
  const own: Fetch = (input, init = {}) => {
    const answer = answers[Math.min(received.length, answers.length - 1)];
    received.push({ url: urlOf(input), init });
    return Promise.resolve(answer?.() ?? Response.error());
  };
  return { scripted: new Tollgate({ baseUrl: 'https://gateway.example', apiKey: 'sk-1', fetch: own }), received };
}
const keysOf = (received: readonly { init: RequestInit }[]): (string | null)[] =>
  received.map(({ init }) => new Headers(init.headers).get('idempotency-key'));
const refusalOf = (call: Promise<unknown>): Promise<TollgateError> =>
  call.then(
    () => Promise.reject(new Error('The call was not refused')),
    (error: unknown) => {
      expect(error).toBeInstanceOf(TollgateError);
      return error as TollgateError;
    },
  );
const allOf = async (events: AsyncIterable<TaskEvent>): Promise<TaskEvent[]> => {
  const seen: TaskEvent[] = [];
  for await (const event of events) seen.push(event);
  return seen;
};

/** The worker stands still until `goOn`, so that no task ends before. */
async function whileWorkerStands<T>(work: (goOn: () => Promise<void>) => Promise<T>): Promise<T> {
  const goOn = (): Promise<void> => gateway.kill('worker-1', 'SIGCONT');
  await gateway.kill('worker-1', 'SIGSTOP');
  try {
    return await work(goOn);
  } finally {
    await goOn();
  }
}

/** Tests of `packages/tollgate-js` against a running gateway. */
describe('tollgate-js', () => {
  beforeAll(async () => {
    project = await gateway.project({ credits: 100_000 });
    client = clientWith(fetch);
  });

  describe('createAndWait', () => {
    it('returns the task when it has succeeded, and one that has failed', async () => {
      const task = await client.createAndWait('image', { ...fox, img_size: '1k', metadata: { order: '7' } });
      expect(task).toMatchObject({ status: 'succeeded', type: 'image', metadata: { order: '7' } });
      expect((await fetch(task.output?.[0]?.url ?? '')).status).toBe(200);
      const failed = await client.createAndWait('image', { ...fox, prompt: 'a fox [[fail=refused]]' });
      expect(failed).toMatchObject({ status: 'failed', error: { code: 'content_policy_violation' } });
    });

    it('reads a task that takes longer than one answer is held again', async () => {
      const polls = watchPolls();
      const task = await whileWorkerStands(async (goOn) => {
        const afterFirst: Fetch = async (input, init) => {
          const answer = await polls.fetch(input, init);
          await goOn();
          return answer;
        };
        return clientWith(afterFirst).createAndWait('image', fox, { waitSeconds: 1 });
      });
      expect(task.status).toBe('succeeded');
      expect(polls.requests()).toBeGreaterThan(1);
      expect(polls.early).toEqual([]);
    });

    it('ends for 40 tasks at once, and sends no request before the server allows it', async () => {
      const polls = watchPolls();
      const waiting = clientWith(polls.fetch);
      const tasks = await Promise.all(Array.from({ length: 40 }, () => waiting.createAndWait('image', fox)));
      expect(tasks.filter(({ status }) => status !== 'succeeded')).toEqual([]);
      expect(new Set(tasks.map(({ task_id: id }) => id)).size).toBe(40);
      expect(polls.early).toEqual([]);
    });

    it('keeps the pause that a gateway names which cannot hold the answer', async () => {
      const running = () => Response.json({ task_id: 'task_1', status: 'queued' }, { headers: { 'retry-after': '1' } });
      const ended = () => Response.json({ task_id: 'task_1', status: 'succeeded' });
      const { scripted, received } = clientOf(running, running, ended);
      const beganAt = performance.now();
      expect(await scripted.createAndWait('image', fox)).toMatchObject({ status: 'succeeded' });
      expect(performance.now() - beganAt).toBeGreaterThan(1_990);
      expect(received.map(({ url }) => new URL(url).pathname + new URL(url).search)).toEqual([
        '/api/v1/images/generate?wait=30',
        '/api/v1/tasks/task_1?wait=30',
        '/api/v1/tasks/task_1?wait=30',
      ]);
    });

    it('leaves when its signal fires, and the task goes on', async () => {
      const leaving = new AbortController();
      const slow = { ...fox, prompt: 'an abandoned fox [[latency=1000]]' };
      const { task_id: id } = await client.create('image', slow);
      const waiting = client.wait(id, { signal: leaving.signal });
      leaving.abort(new Error('enough'));
      await expect(waiting).rejects.toThrow('enough');
      expect((await client.wait(id)).status).toBe('succeeded');
    });
  });

  describe('a create', () => {
    it('whose connection is lost after the gateway accepted it makes no second task', async () => {
      const before = (await countRows(gateway.database)).task;
      let accepted = '';
      const losing: Fetch = async (input, init) => {
        const response = await fetch(input, init);
        if (accepted !== '') return response;
        accepted = ((await response.json()) as Task).task_id;
        throw new TypeError('fetch failed');
      };
      const task = await clientWith(losing).create('image', fox);
      expect(task.task_id).toBe(accepted);
      expect((await countRows(gateway.database)).task).toBe(before + 1);
      await client.wait(accepted);
    });

    it('whose answer breaks off is sent again with the same key, and a new create has a new one', async () => {
      const broken = () => new Response('{"task_id":"ta', { headers: { 'content-type': 'application/json' } });
      const whole = () => Response.json({ task_id: 'task_1', status: 'queued' }, { status: 202 });
      const { scripted, received } = clientOf(broken, whole);
      await scripted.create('video', { model: 'a', prompt: 'b' });
      await scripted.create('video', { model: 'a', prompt: 'b' });
      const [first, second, third] = keysOf(received);
      expect(first).toMatch(/^[0-9a-f]{32}$/);
      expect(second).toBe(first);
      expect(third).not.toBe(first);
    });

    it.each([
      [429, 'rate_limit_exceeded'],
      [503, 'overloaded'],
      [409, 'idempotency_in_progress'],
    ])('answered %i %s is sent again, not before Retry-After', async (status, code) => {
      const refused = () =>
        Response.json({ error: { code, message: 'Later.', param: null } }, { status, headers: { 'retry-after': '1' } });
      const { scripted, received } = clientOf(refused, () => Response.json({ task_id: 'task_1' }, { status: 202 }));
      const beganAt = performance.now();
      await scripted.create('image', fox, { idempotencyKey: 'order-7' });
      expect(performance.now() - beganAt).toBeGreaterThan(990);
      expect(keysOf(received)).toEqual(['order-7', 'order-7']);
    });

    it.each([
      [503, { 'x-should-retry': 'false' }],
      [429, { 'retry-after': '3600' }],
      [402, {}],
    ])('answered %i with %j is not sent again', async (status, headers: Record<string, string>) => {
      const { scripted, received } = clientOf(() => new Response('<html>', { status, headers }));
      expect(await refusalOf(scripted.create('image', fox))).toMatchObject({ status, code: `http_${status}` });
      expect(received).toHaveLength(1);
    });

    it('throws what the gateway refuses: code, field, request id', async () => {
      const unknown = await refusalOf(client.create('image', { ...fox, model: 'aurora-image-9' }));
      expect(unknown).toMatchObject({
        status: 404,
        code: 'model_not_found',
        requestId: expect.stringMatching(/^req_/),
      });
      const wrong = await refusalOf(client.create('image', { ...fox, img_size: '9k' }));
      expect(wrong).toMatchObject({ status: 400, code: 'invalid_value', field: 'img_size', mayRetry: false });
      const poor = await gateway.project({ credits: 0 });
      const broke = new Tollgate({ baseUrl: `${gateway.baseUrl}/`, apiKey: poor.apiKey });
      expect(await refusalOf(broke.createAndWait('image', fox))).toMatchObject({ code: 'insufficient_credits' });
    });

    it('throws what fetch threw when the gateway cannot be reached', async () => {
      const away = new Tollgate({ baseUrl: 'http://127.0.0.1:1', apiKey: 'sk-1', retriesMax: 0 });
      const error: unknown = await away.create('image', fox).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(TollgateConnectionError);
      expect(error).toHaveProperty('cause.message', 'fetch failed');
    });
  });

  it('quotes without creating a task, reads a task and cancels one', async () => {
    const before = (await countRows(gateway.database)).task;
    expect(await client.quote('image', fox)).toMatchObject({ object: 'quote', balance: { sufficient: true } });
    expect((await countRows(gateway.database)).task).toBe(before);
    const { task_id: id } = await client.create('image', { ...fox, prompt: 'a lost fox [[fail=never]]' });
    expect(isEnded(await client.retrieve(id))).toBe(false);
    expect((await client.cancel(id)).status).toBe('canceled');
    expect((await client.cancel(id)).status).toBe('canceled');
  });

  describe('events', () => {
    it('are the task now and its changes to the end, also over a connection that is lost', async () => {
      const lastEventIds: (string | null)[] = [];
      const { id, events } = await whileWorkerStands(async (goOn) => {
        const { task_id: id } = await client.create('image', { ...fox, prompt: 'a watched fox' });
        const cutting: Fetch = async (input, init) => {
          const response = await fetch(input, init);
          lastEventIds.push(new Headers(init?.headers).get('last-event-id'));
          if (lastEventIds.length === 1) return cutAfterFirstEvent(response);
          await goOn();
          return response;
        };
        return { id, events: await allOf(clientWith(cutting).events(id)) };
      });
      expect(events.at(-1)).toMatchObject({ type: 'task.succeeded', task: { task_id: id, status: 'succeeded' } });
      // The first part of the stream may have more than one event.
      expect(lastEventIds).toHaveLength(2);
      expect([null, ...events.map((event) => event.id)]).toEqual(expect.arrayContaining(lastEventIds));
      expect(lastEventIds[1]).not.toBeNull();
      // No state comes twice.
      expect(new Set(events.map((event) => event.id)).size).toBe(events.length);
      expect(await allOf(client.events(id))).toEqual(events.slice(-1));
      expect(await allOf(client.events(id, { lastEventId: events.at(-1)?.id ?? '' }))).toEqual([]);
    });

    it('throw the refusal of an unknown task, and the reason of their signal', async () => {
      expect(await refusalOf(allOf(client.events('task_unknown')))).toMatchObject({ code: 'task_not_found' });
      const { task_id: id } = await client.create('image', { ...fox, prompt: 'an endless fox [[fail=never]]' });
      const leaving = new AbortController();
      const reading = (async () => {
        for await (const { type } of client.events(id, { signal: leaving.signal })) {
          expect(type).toBe('task.updated');
          leaving.abort(new Error('enough'));
        }
      })();
      await expect(reading).rejects.toThrow('enough');
      await client.cancel(id);
    });
  });

  it('verifies a callback by the raw body and the secret or the public keys, and refuses a changed one', async () => {
    const receiver = await startReceiver();
    try {
      const { task_id: id } = await client.create('image', { ...fox, callback_url: receiver.at('done') });
      const [call] = await eventually(() =>
        Promise.resolve(receiver.calls('done').length > 0 && receiver.calls('done')),
      );
      if (!call) throw new Error('There is no callback');
      const { webhookSecret } = project;
      const event = verifyWebhook(call.body, call.headers, webhookSecret);
      expect(event).toMatchObject({ type: 'task.succeeded', data: { task_id: id } });
      expect(verifyWebhook(Buffer.from(call.body), new Headers(call.headers), webhookSecret)).toEqual(event);
      const other = new Webhook(Buffer.alloc(32, 9).toString('base64'));
      const forged = other.sign(event.id, new Date(), call.body);
      for (const [body, headers] of [
        [`${call.body} `, call.headers],
        [call.body, { ...call.headers, 'webhook-signature': forged }],
        [call.body, {}],
      ] as const)
        expect(() => verifyWebhook(body, headers, webhookSecret)).toThrow(WebhookVerificationError);

      const published = await fetch(`${gateway.baseUrl}/.well-known/webhook-keys.json`);
      const { keys } = (await published.json()) as { keys: WebhookKey[] };
      const unknown = { algorithm: 'ed25519', public_key: `whpk_${Buffer.alloc(32, 9).toString('base64')}` };
      expect(await verifyWebhookByPublicKey(call.body, call.headers, [unknown, ...keys])).toEqual(event);
      expect(await verifyWebhookByPublicKey(Buffer.from(call.body), new Headers(call.headers), keys)).toEqual(event);
      const sentAt = Number(call.headers['webhook-timestamp']);
      for (const [body, headers, trustedKeys] of [
        [`${call.body} `, call.headers, keys],
        [call.body, { ...call.headers, 'webhook-timestamp': String(sentAt - 1) }, keys],
        [call.body, { ...call.headers, 'webhook-timestamp': String(sentAt - 400) }, keys],
        [call.body, { ...call.headers, 'webhook-signature': 'v1a,not-base64' }, keys],
        [call.body, call.headers, [unknown]],
        [call.body, {}, keys],
      ] as const)
        await expect(verifyWebhookByPublicKey(body, headers, trustedKeys)).rejects.toThrow(WebhookVerificationError);
    } finally {
      await receiver.close();
    }
  });
});
/** The same answer, whose connection breaks off after the first event. */
function cutAfterFirstEvent({ body, status, headers }: Response): Response {
  const reader: ReadableStreamDefaultReader<Uint8Array> | undefined = body?.getReader();
  let text = '';
  const pull = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
    if (text.includes('data: ')) {
      await reader?.cancel();
      controller.error(new TypeError('terminated'));
      return;
    }
    const { value = new Uint8Array() } = (await reader?.read()) ?? {};
    text += Buffer.from(value).toString();
    controller.enqueue(value);
  };
  return new Response(new ReadableStream({ pull }, { highWaterMark: 0 }), { status, headers });
}
