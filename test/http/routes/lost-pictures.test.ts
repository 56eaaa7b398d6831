import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { connect } from 'node:net';
import { eventually } from '../../support/eventually.ts';
import { startGateway, type Gateway, type TestProject } from '../../support/gateway.ts';
import { enlarge, picture, withText } from './gemini-answers.ts';

let gateway: Gateway;
let project: TestProject;
/** An API server that waits for pictures for one second. */
let impatient: string;
beforeAll(async () => {
  gateway = await startGateway({ env: { IMAGE_WAIT_SECONDS: '60', INLINE_IMAGES_MAX_BYTES: '20000000' } });
  project = await gateway.project({ credits: 10_000 });
  ({ baseUrl: impatient } = await gateway.startApi({ IMAGE_WAIT_SECONDS: '1' }));
});
afterAll(() => gateway?.stop());
afterEach(async () => expect(await gateway.verifyLedger()).toMatchObject({ ok: true }));

/** Requests for pictures that wait for them. */
const bodies: Record<string, (prompt: string) => object> = {
  '/v1/images/generations': (prompt) => ({ model: picture, prompt }),
  [`/v1beta/models/${picture}:generateContent`]: withText,
  [`/v1/models/${picture}:predict`]: (prompt) => ({ instances: [{ prompt }], parameters: {} }),
};

interface Sending {
  baseUrl?: string;
  apiKey?: string;
  signal?: AbortSignal;
}

/** The status, whether the answer is that of an earlier request, and the task that a refusal names. */
async function send(path: string, prompt: string, { baseUrl, apiKey, signal }: Sending = {}) {
  const answer = await fetch((baseUrl ?? gateway.baseUrl) + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${apiKey ?? project.apiKey}` },
    body: JSON.stringify(bodies[path]?.(prompt) ?? { model: path === '/v1/videos' ? 'kling-3' : picture, prompt }),
    ...(signal && { signal }),
  });
  const isReplay = answer.headers.get('idempotent-replayed') === 'true';
  const text = await answer.text();
  const [taskId = ''] = (answer.ok ? null : /task_\w+/.exec(text)) ?? [];
  return { status: answer.status, isReplay, taskId };
}

const submitsOf = async (prompt: string): Promise<number> => (await gateway.hits(prompt, 'submit')).length;
const notedOf = `select from idempotency i join task t on t.id = i.task_id where i.route like 'undelivered %' and t.input ->> 'prompt' = $1`;
const countNoted = async (prompt: string): Promise<number> =>
  (await gateway.database.query('', notedOf, [prompt])).length;
const late = { status: 504, isReplay: false, taskId: expect.stringMatching(/^task_/) };
const takenOver = { status: 200, isReplay: true, taskId: '' };
const bought = { status: 200, isReplay: false, taskId: '' };

/** Sends a request and leaves once the provider has it. */
async function leave(path: string, prompt: string): Promise<void> {
  const leaving = new AbortController();
  const left = send(path, prompt, { signal: leaving.signal }).catch(() => null);
  await eventually(async () => (await submitsOf(prompt)) === 1);
  leaving.abort();
  expect(await left).toBeNull();
  await eventually(async () => (await countNoted(prompt)) === 1);
}

/** OpenAI's SDK for C# and Spring AI repeat a request after any 504, and others after a timeout of their own. None of them sends a key. */
describe.each(Object.keys(bodies))('a picture without an Idempotency-Key at %s', (path) => {
  it('whose answer was 504 goes to one equal request of the same API key, and is bought once', async () => {
    const { apiKey } = await gateway.key(project.projectId);
    const prompt = `late at ${path} [[latency=15000]]`;
    // Two that run side by side are two pictures.
    const both = [1, 2].map(() => send(path, prompt, { baseUrl: impatient }));
    expect(await Promise.all(both)).toEqual([late, late]);
    const repeated = [send(path, prompt), send(path, prompt), send(path, prompt, { apiKey })];
    expect(await Promise.all(repeated)).toEqual([takenOver, takenOver, bought]);
    expect(await submitsOf(prompt)).toBe(3);
    expect(await send(path, prompt.replace('15000', '0'))).toEqual(bought);
  });

  it('whose client left before the answer goes to an equal request, which may be late again', async () => {
    const prompt = `left at ${path} [[latency=25000]]`;
    await leave(path, prompt);
    expect(await send(path, prompt, { baseUrl: impatient })).toEqual({ ...late, isReplay: true });
    expect(await send(path, prompt)).toEqual(takenOver);
    expect([await countNoted(prompt), await submitsOf(prompt)]).toEqual([0, 1]);
  });
});

it('gives a task again whose client left while it waited for its end', async () => {
  const path = '/api/v1/images/generate?wait=60';
  const prompt = 'left during the wait [[latency=12000]]';
  await leave(path, prompt);
  expect(await send(path, prompt)).toEqual(takenOver);
  expect(await submitsOf(prompt)).toBe(1);
});

it('gives a clip again whose client left while the database was slow', async () => {
  const path = '/v1/videos';
  const prompt = 'left before the answer [[latency=0]]';
  const leaving = new AbortController();
  let left: Promise<unknown> | undefined;
  await gateway.database.transaction('begin', async (query) => {
    await query('', 'lock table task in share row exclusive mode');
    left = send(path, prompt, { signal: leaving.signal }).catch(() => null);
    const waiting = `select from pg_stat_activity where wait_event_type = 'Lock' and query like '%create_tasks%'`;
    await eventually(async () => (await gateway.database.query('', waiting)).length > 0);
    leaving.abort();
    expect(await left).toBeNull();
  });
  await eventually(async () => (await countNoted(prompt)) === 1);
  expect(await send(path, prompt)).toEqual(takenOver);
  expect(await send(path, prompt)).toEqual(bought);
});

it('gives a picture again whose bytes did not all reach the client', async () => {
  const [path = ''] = Object.keys(bodies);
  const prompt = `cut off at ${path} [[latency=12000]]`;
  const { taskId } = await send(path, prompt, { baseUrl: impatient });
  await gateway.poll(project.apiKey, taskId);
  // More than the buffers of the connection hold.
  await enlarge(gateway, taskId, 9_000_000);
  const text = JSON.stringify(bodies[path]?.(prompt));
  const { hostname, port } = new URL(gateway.baseUrl);
  const socket = connect(Number(port), hostname);
  socket.write(
    `POST ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${project.apiKey}\r\nContent-Type: application/json\r\nContent-Length: ${text.length}\r\n\r\n${text}`,
  );
  await once(socket, 'readable');
  expect(await countNoted(prompt)).toBe(0);
  socket.destroy();
  await eventually(async () => (await countNoted(prompt)) === 1);
  expect(await send(path, prompt)).toEqual(takenOver);
  expect(await submitsOf(prompt)).toBe(1);
});

it('buys a picture anew whose task its client deleted', async () => {
  const [path = ''] = Object.keys(bodies);
  const prompt = `deleted at ${path} [[latency=12000]]`;
  const answer = await send(path, prompt, { baseUrl: impatient });
  expect(answer).toEqual(late);
  const { taskId } = answer;
  await gateway.poll(project.apiKey, taskId);
  const { status } = await fetch(`${gateway.baseUrl}/api/v1/tasks/${taskId}`, {
    method: 'DELETE',
    headers: { authorization: `Bearer ${project.apiKey}` },
  });
  expect(status).toBe(200);
  expect(await send(path, prompt)).toEqual(bought);
});
