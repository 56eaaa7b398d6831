import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../../support/eventually.ts';
import { startGateway, type Gateway, type TestProject } from '../../support/gateway.ts';
import { picture, withText } from './gemini-answers.ts';

let gateway: Gateway;
let project: TestProject;
/** An API server that waits for pictures for one second. */
let impatient: string;
beforeAll(async () => {
  gateway = await startGateway({ env: { IMAGE_WAIT_SECONDS: '60' } });
  project = await gateway.project({ credits: 10_000 });
  ({ baseUrl: impatient } = await gateway.startApi({ IMAGE_WAIT_SECONDS: '1' }));
});
afterAll(() => gateway?.stop());
afterEach(async () => expect(await gateway.verifyLedger()).toMatchObject({ ok: true }));

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

/** The status, and whether the answer is that of an earlier request. */
async function send(path: string, prompt: string, { baseUrl, apiKey, signal }: Sending = {}) {
  const answer = await fetch((baseUrl ?? gateway.baseUrl) + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${apiKey ?? project.apiKey}` },
    body: JSON.stringify(bodies[path]?.(prompt)),
    ...(signal && { signal }),
  });
  await answer.arrayBuffer();
  return { status: answer.status, isReplay: answer.headers.get('idempotent-replayed') === 'true' };
}

const submitsOf = async (prompt: string): Promise<number> => (await gateway.hits(prompt, 'submit')).length;
const late = { status: 504, isReplay: false };
const takenOver = { status: 200, isReplay: true };
const bought = { status: 200, isReplay: false };

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
    const prompt = `left at ${path} [[latency=15000]]`;
    const leaving = new AbortController();
    const left = send(path, prompt, { signal: leaving.signal }).catch(() => null);
    await eventually(async () => (await submitsOf(prompt)) === 1);
    leaving.abort();
    expect(await left).toBeNull();
    const noted = `select from idempotency i join task t on t.id = i.task_id where i.route like 'undelivered %' and t.input ->> 'prompt' = $1`;
    const isNoted = async () => (await gateway.database.query('', noted, [prompt])).length === 1;
    await eventually(isNoted);
    expect(await send(path, prompt, { baseUrl: impatient })).toEqual({ status: 504, isReplay: true });
    expect(await send(path, prompt)).toEqual(takenOver);
    expect([await isNoted(), await submitsOf(prompt)]).toEqual([false, 1]);
  });
});
