import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { eventually } from '../../support/eventually.ts';
import { type Gateway, startGateway, type TestProject } from '../../support/gateway.ts';
import { sendRaw } from '../../support/raw-request.ts';
import { accountOf, countRows } from '../../support/rows.ts';
import { spec } from '../../spec/spec.ts';
import { type AskOptions, enlarge, failureOf, hello, image, picture, responseOf, withText } from './gemini-answers.ts';

let gateway: Gateway;
let project: TestProject;
beforeAll(async () => {
  gateway = await startGateway({
    env: { IMAGE_WAIT_SECONDS: '60', IMAGE_WAITS_MAX: '2', INLINE_IMAGES_MAX_BYTES: '40000' },
  });
  project = await gateway.project({ credits: 10_000 });
});
afterAll(() => gateway.stop());
afterEach(async () => expect(await gateway.verifyLedger()).toMatchObject({ ok: true }));

let impatient: Promise<string> | undefined;
/** An API server that waits for pictures for one second. Those that it must not see take longer than it may pause. */
const impatientApi = (): Promise<string> =>
  (impatient ??= gateway.startApi({ IMAGE_WAIT_SECONDS: '1' }).then(({ baseUrl }) => baseUrl));

/** Posts to `/api/v1beta/models/` + `path` with the header of Google's SDKs. */
const ask = (
  path: string,
  body: unknown,
  { key = project.apiKey, headers = {}, baseUrl = gateway.baseUrl }: AskOptions = {},
) =>
  sendRaw({
    method: 'POST',
    url: `${baseUrl}/api/v1beta/models/${path}`,
    headers: { 'content-type': 'application/json', ...(key !== null && { 'x-goog-api-key': key }), ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });

const bytesOf = (data: string | undefined): Buffer => Buffer.from(data ?? '', 'base64');

describe('an image on the Gemini route', () => {
  it('is returned inline once its task has ended, and is charged to that task, whose id is the responseId', async () => {
    spec('4.7 returns');
    const before = await accountOf(gateway.database, project.projectId);
    const answer = await ask(`${picture}:generateContent`, {
      contents: [{ parts: [{ text: 'a fox' }, { text: 'in snow' }] }],
      generationConfig: {
        candidateCount: 1,
        responseModalities: ['TEXT', 'IMAGE'],
        imageConfig: { aspectRatio: '16:9', imageSize: '2K' },
      },
    });
    const { parts, responseId, modelVersion } = responseOf(answer);
    expect(modelVersion).toBe(picture);
    const task = await gateway.poll(project.apiKey, responseId);
    expect(task).toMatchObject({
      status: 'succeeded',
      input: { prompt: 'a fox\nin snow', aspect_ratio: '16:9', img_size: '2k' },
      credits: { charged: 8 },
    });
    expect(answer.headers['x-tollgate-credits']).toBe('8');
    const stored = await fetch(task.output?.[0]?.url ?? '', { signal: AbortSignal.timeout(60_000) });
    expect(parts).toHaveLength(1);
    expect(parts[0]?.inlineData?.mimeType).toBe(task.output?.[0]?.mime_type);
    expect(bytesOf(parts[0]?.inlineData?.data).equals(Buffer.from(await stored.arrayBuffer()))).toBe(true);
    expect((await accountOf(gateway.database, project.projectId)).balance).toBe(before.balance - 8);
  });

  it('may have input images, which become image or reference_images as the model accepts them', async () => {
    const parts = [{ text: 'put them together' }, image, image];
    const both = responseOf(await ask(`${picture}:generateContent`, { contents: [{ parts }] }));
    expect((await gateway.poll(project.apiKey, both.responseId)).input).toMatchObject({
      image: expect.stringMatching(/^file_/),
      reference_images: [expect.stringMatching(/^file_/)],
    });
    const references = responseOf(await ask('nano-banana-pro:generateContent', { contents: [{ parts }] }));
    const { input } = await gateway.poll(project.apiKey, references.responseId);
    expect(input?.['reference_images']).toHaveLength(2);
    expect(input).not.toHaveProperty('image');
  });

  it('is returned in both stream formats, with one part for each of several images', async () => {
    const body = withText('two foxes [[outputs=2]]');
    const events = await ask(`${picture}:streamGenerateContent?alt=sse`, body);
    const [, inner = ''] = /^data: (\{[^\n]*\})\n\n$/.exec(events.text) ?? [];
    expect(responseOf({ ...events, text: inner }).parts).toHaveLength(2);
    const array = await ask(`${picture}:streamGenerateContent`, body);
    const [, element = ''] = /^\[(\{[^\n]*\})\]$/.exec(array.text) ?? [];
    expect(responseOf({ ...array, text: element }).parts).toHaveLength(2);
  });

  it('is returned as fileData with a URL if it is too large for the inline limit', async () => {
    const answer = await ask(`${picture}:generateContent`, withText('a crowd of foxes [[outputs=8]]'));
    const { parts, responseId } = responseOf(answer);
    const { output } = await gateway.poll(project.apiKey, responseId);
    expect(parts).toHaveLength(8);
    expect(parts[0]).toHaveProperty('inlineData');
    const { fileUri = '' } = parts[7]?.fileData ?? {};
    const stored = await fetch(fileUri, { signal: AbortSignal.timeout(60_000) });
    expect(stored.status).toBe(200);
    expect(stored.headers.get('content-type')).toBe(output?.[7]?.mime_type);
    expect((await stored.arrayBuffer()).byteLength).toBe(output?.[7]?.bytes);
  });

  it('gets DEADLINE_EXCEEDED with its task id if it takes too long, and a retry with the same key returns it', async () => {
    const headers = { 'idempotency-key': randomUUID() };
    const body = withText('a slow fox [[latency=20000]]');
    const baseUrl = await impatientApi();
    const late = await ask(`${picture}:generateContent`, body, { headers, baseUrl });
    const failure = failureOf(late);
    expect(failure).toMatchObject({ code: 504, status: 'DEADLINE_EXCEEDED' });
    expect(late.headers['x-should-retry']).toBe('false');
    const taskId = failure.metadata['task_id'] ?? '';
    expect(taskId).toMatch(/^task_/);

    const ended = await gateway.poll(project.apiKey, taskId);
    expect(ended).toMatchObject({ status: 'succeeded', credits: { charged: 4 } });
    const joined = await ask(`${picture}:generateContent`, body, { headers });
    expect(joined.headers['idempotent-replayed']).toBe('true');
    expect(responseOf(joined).responseId).toBe(taskId);
    expect(await gateway.hits('a slow fox', 'submit')).toHaveLength(1);
  });

  it('gets 504 with its task id on /v1/images/generations if it takes too long, and the task goes on', async () => {
    const late = await sendRaw({
      method: 'POST',
      url: `${await impatientApi()}/v1/images/generations`,
      headers: { 'content-type': 'application/json', authorization: `Bearer ${project.apiKey}` },
      body: JSON.stringify({ model: picture, prompt: 'a slow hen [[latency=20000]]' }),
    });
    expect([late.status, late.headers['x-should-retry']]).toEqual([504, 'false']);
    expect(JSON.parse(late.text)).toEqual({
      error: {
        code: 'upstream_timeout',
        type: 'server_error',
        param: null,
        message: expect.stringContaining('continues'),
      },
    });
    const [taskId = ''] = /task_\w+/.exec(late.text) ?? [];
    expect(await gateway.poll(project.apiKey, taskId)).toMatchObject({
      status: 'succeeded',
      credits: { charged: 4 },
    });
  });

  it.each([
    { script: '[[fail=refused]]', code: 400, status: 'INVALID_ARGUMENT', reason: 'CONTENT_POLICY_VIOLATION' },
    { script: '[[fail=late_fail]]', code: 502, status: 'UNAVAILABLE', reason: 'UPSTREAM_ERROR' },
  ])('costs nothing and gets $code with its task id if the script is $script', async ({ script, ...expected }) => {
    const before = await accountOf(gateway.database, project.projectId);
    const headers = { 'idempotency-key': randomUUID() };
    const first = await ask(`${picture}:generateContent`, withText(`a fox ${script}`), { headers });
    expect(failureOf(first)).toMatchObject(expected);
    expect(first.headers['x-should-retry']).toBe('false');
    expect(failureOf(first).metadata).toHaveProperty('task_id');
    expect(await accountOf(gateway.database, project.projectId)).toEqual(before);
    // A repeated request with the same key gets the failed task again and does not call the upstream.
    const again = await ask(`${picture}:generateContent`, withText(`a fox ${script}`), { headers });
    expect(failureOf(again).metadata).toEqual(failureOf(first).metadata);
  });

  it('is returned as a URL while unread answers fill the memory budget, and inline again once they are gone', async () => {
    const [pictureBytes, answersMax] = [9_000_000, 2];
    const { baseUrl } = await gateway.startApi({
      INLINE_IMAGES_MAX_BYTES: '20000000',
      // Each answer reserves the size of the file and of its base64 form.
      INLINE_IMAGES_BUFFERED_MAX_BYTES: String((answersMax + 0.5) * pictureBytes * (7 / 3)),
    });
    const headers = { 'idempotency-key': randomUUID() };
    const body = withText('a large fox');
    const { responseId } = responseOf(await ask(`${picture}:generateContent`, body, { headers }));
    await enlarge(gateway, responseId, pictureBytes);
    const path = `/api/v1beta/models/${picture}:generateContent`;
    const replay = async () => {
      const answer = await ask(`${picture}:generateContent`, body, { headers, baseUrl });
      const [part] = responseOf(answer).parts;
      return part?.inlineData ? bytesOf(part.inlineData.data).length : part?.fileData?.fileUri;
    };
    expect(await replay()).toBe(pictureBytes);

    const text = JSON.stringify(body);
    const head = `POST ${path} HTTP/1.1\r\nHost: a\r\nx-goog-api-key: ${project.apiKey}\r\nIdempotency-Key: ${headers['idempotency-key']}\r\nContent-Type: application/json\r\nContent-Length: ${text.length}\r\n\r\n`;
    const { hostname, port } = new URL(baseUrl);
    const idle = Array.from({ length: answersMax }, () => connect(Number(port), hostname));
    try {
      for (const socket of idle) {
        // The answer has begun, but the test does not read it.
        socket.on('error', () => undefined).write(head + text);
        await once(socket, 'readable');
      }
      const url = await replay();
      expect(url).toMatch(/^http/);
      const stored = await fetch(String(url), { signal: AbortSignal.timeout(60_000) });
      expect((await stored.arrayBuffer()).byteLength).toBe(pictureBytes);
    } finally {
      for (const socket of idle) socket.destroy();
    }
    await eventually(async () => (await replay()) === pictureBytes);
    for (let n = 0; n < 2 * answersMax; n += 1) expect(await replay()).toBe(pictureBytes);
  });

  it('is refused without a task while too many requests wait, and a client that hangs up stops waiting', async () => {
    const before = await countRows(gateway.database);
    const clients = [new AbortController(), new AbortController()];
    const waiting = clients.map(({ signal }, index) =>
      fetch(`${gateway.baseUrl}/api/v1beta/models/${picture}:generateContent`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-goog-api-key': project.apiKey },
        body: JSON.stringify(withText(`crowd ${index} [[latency=60000]]`)),
        signal,
      }).catch(() => null),
    );
    await eventually(async () => (await countRows(gateway.database)).task === before.task + 2);
    expect(failureOf(await ask(`${picture}:generateContent`, withText('crowd 2')))).toMatchObject({
      code: 503,
      reason: 'OVERLOADED',
    });
    expect((await countRows(gateway.database)).task).toBe(before.task + 2);
    for (const client of clients) client.abort();
    await Promise.all(waiting);
    await eventually(async () => (await ask(`${picture}:generateContent`, hello)).status === 200);
  });
});
