import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { z } from 'zod';
import { eventually } from '../../support/eventually.ts';
import { startGateway, type Gateway, type TestProject } from '../../support/gateway.ts';
import { sendRaw, type RawAnswer } from '../../support/raw-request.ts';
import { accountOf, countRows } from '../../support/rows.ts';
import { spec } from '../../spec/spec.ts';

let gateway: Gateway;
let project: TestProject;
let poor: TestProject;
let narrow: TestProject;
beforeAll(async () => {
  gateway = await startGateway({
    env: { IMAGE_WAIT_SECONDS: '18', IMAGE_WAITS_MAX: '2', INLINE_IMAGES_MAX_BYTES: '40000' },
  });
  project = await gateway.project({ credits: 10_000 });
  poor = await gateway.project({ credits: 0 });
  narrow = await gateway.project({ models: ['gpt-5-mini'] });
});
afterAll(() => gateway.stop());
afterEach(async () => expect(await gateway.verifyLedger()).toMatchObject({ ok: true }));

const chat = 'gemini-2.5-flash';
const picture = 'aurora-image-1';
const withText = (text: string) => ({ contents: [{ role: 'user', parts: [{ text }] }] });
const hello = withText('hello');
const onePixel =
  'iVBORw0KGgoAAAANSUhEUgAAAEAAAABACAIAAAAlC+aJAAAAT0lEQVR42u3PQQkAAAgEsItjRBObwwi+hcEKLNP1WgQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQELguHpmFpj8NWjwAAAABJRU5ErkJggg==';
const image = { inlineData: { mimeType: 'image/png', data: onePixel } };

let impatient: Promise<string> | undefined;
/** An API server that waits for pictures for one second. */
const impatientApi = (): Promise<string> =>
  (impatient ??= gateway.startApi({ IMAGE_WAIT_SECONDS: '1' }).then(({ baseUrl }) => baseUrl));

interface AskOptions {
  key?: string | null;
  headers?: Record<string, string>;
  /** The API server to call instead of the first one. */
  baseUrl?: string;
}

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

const Failure = z.strictObject({
  error: z.strictObject({
    code: z.int(),
    message: z.string().min(1),
    status: z.string(),
    details: z.array(z.looseObject({ '@type': z.string() })).min(1),
  }),
});
const ErrorInfo = z.object({ reason: z.string(), metadata: z.record(z.string(), z.string()) });

function failureOf({ status, text, headers }: RawAnswer) {
  const { error } = Failure.parse(JSON.parse(text));
  expect(error.code).toBe(status);
  expect(headers['x-request-id']).toMatch(/^req_/);
  const { reason, metadata } = ErrorInfo.parse(error.details[0]);
  return { code: error.code, status: error.status, reason, metadata, message: error.message };
}

const Response = z.object({
  candidates: z
    .array(
      z.object({
        content: z.object({
          role: z.literal('model'),
          parts: z.array(
            z.object({
              text: z.string().optional(),
              inlineData: z.object({ mimeType: z.string(), data: z.string() }).optional(),
              fileData: z.object({ mimeType: z.string(), fileUri: z.string() }).optional(),
            }),
          ),
        }),
        finishReason: z.string(),
      }),
    )
    .length(1),
  usageMetadata: z.object({ promptTokenCount: z.number(), candidatesTokenCount: z.number() }),
  modelVersion: z.string(),
  responseId: z.string(),
});
function responseOf({ status, text }: RawAnswer) {
  if (status !== 200) throw new Error(`expected 200, got ${status} ${text}`);
  const response = Response.parse(JSON.parse(text));
  return { ...response, parts: response.candidates[0]?.content.parts ?? [] };
}

describe('the scopes of a key on the Gemini routes', () => {
  it('are demanded by the type of the model, on both actions', async () => {
    const chats = await gateway.key(project.projectId, { scopes: ['chat'] });
    const makes = await gateway.key(project.projectId, { scopes: ['media'] });
    for (const action of ['generateContent', 'streamGenerateContent', 'streamGenerateContent?alt=sse']) {
      const refused = [
        await ask(`${picture}:${action}`, withText('a fox'), { key: chats.apiKey }),
        await ask(`${chat}:${action}`, hello, { key: makes.apiKey }),
      ];
      for (const answer of refused) expect(failureOf(answer)).toMatchObject({ code: 403, reason: 'SCOPE_NOT_ALLOWED' });
      expect((await ask(`${chat}:${action}`, hello, { key: chats.apiKey })).status).toBe(200);
    }
    expect((await ask(`${picture}:generateContent`, withText('a fox'), { key: makes.apiKey })).status).toBe(200);
  });
});

describe('invalid input on the Gemini route', () => {
  interface BadBody {
    what: string;
    body: unknown;
    param?: string;
    model?: string;
  }
  const bad: BadBody[] = [
    { what: 'missing contents', body: {}, param: 'contents' },
    { what: 'empty contents', body: { contents: [] }, param: 'contents' },
    { what: 'contents that are an object', body: { contents: {} }, param: 'contents' },
    { what: 'an empty part', body: { contents: [{ parts: [{}] }] }, param: 'contents.0.parts.0' },
    { what: 'an empty text', body: withText(''), param: 'contents' },
    {
      what: 'the role system',
      body: { contents: [{ role: 'system', parts: [{ text: 'x' }] }] },
      param: 'contents.0.role',
    },
    { what: 'an array as generationConfig', body: { ...hello, generationConfig: [] }, param: 'generationConfig' },
    { what: 'a string as generationConfig', body: { ...hello, generationConfig: 'x' }, param: 'generationConfig' },
    {
      what: 'maxOutputTokens above the maximum',
      body: { ...hello, generationConfig: { maxOutputTokens: 8_193 } },
      param: 'generationConfig.maxOutputTokens',
    },
    {
      what: 'two candidates of a chat model',
      body: { ...hello, generationConfig: { candidateCount: 2 } },
      param: 'generationConfig.candidateCount',
    },
    { what: 'an unknown field', body: { ...hello, seed: 1 }, param: 'seed' },
    { what: 'an empty body', body: '' },
    { what: 'an array as body', body: '[]' },
    { what: 'a video model', model: 'veo-3.1', body: hello, param: 'model' },
    {
      what: 'a seed that no channel supports',
      model: 'claude-sonnet-4.5',
      body: { ...hello, generationConfig: { seed: 4 } },
      param: 'generationConfig.seed',
    },
    {
      what: 'a JSON response that no channel supports',
      model: 'claude-sonnet-4.5',
      body: { ...hello, generationConfig: { responseMimeType: 'application/json' } },
      param: 'generationConfig.responseMimeType',
    },
    {
      what: 'more stop sequences than any channel accepts',
      model: 'mistral-large-4',
      body: { ...hello, generationConfig: { stopSequences: ['a', 'b', 'c', 'd', 'e'] } },
      param: 'generationConfig.stopSequences',
    },
    {
      what: 'a conversation with an image model',
      model: picture,
      body: { contents: [...hello.contents, { role: 'model', parts: [{ text: 'x' }] }] },
      param: 'contents.1.role',
    },
    { what: 'a blank prompt for an image model', model: picture, body: withText(' '), param: 'contents' },
    {
      what: 'an aspect ratio that the image model lacks',
      model: picture,
      body: { ...hello, generationConfig: { imageConfig: { aspectRatio: '21:9' } } },
      param: 'generationConfig.imageConfig.aspectRatio',
    },
    {
      what: 'a size for an image model without sizes',
      model: 'flux-1.1-pro',
      body: { ...hello, generationConfig: { imageConfig: { imageSize: '2K' } } },
      param: 'generationConfig.imageConfig.imageSize',
    },
    {
      what: 'an input image for an image model that accepts none',
      model: 'flux-1.1-pro',
      body: { contents: [{ parts: [{ text: 'x' }, image] }] },
      param: 'contents',
    },
    {
      what: 'inline data that is not an image',
      model: picture,
      body: { contents: [{ parts: [{ text: 'x' }, { inlineData: { mimeType: 'image/png', data: 'AAAA' } }] }] },
      param: 'contents',
    },
    {
      what: 'two candidates of an image model',
      model: picture,
      body: { ...hello, generationConfig: { candidateCount: 2 } },
      param: 'generationConfig.candidateCount',
    },
    {
      what: 'a text response from an image model',
      model: picture,
      body: { ...hello, generationConfig: { responseModalities: ['TEXT'] } },
      param: 'generationConfig.responseModalities',
    },
    {
      what: 'a callback_url on an image model',
      model: picture,
      body: { ...hello, callback_url: 'https://x.example/' },
    },
  ];
  it.each(bad)('is refused as INVALID_ARGUMENT and writes no row: $what', async ({ body, param, model = chat }) => {
    const before = await countRows(gateway.database);
    const key = randomUUID();
    for (const action of ['generateContent', 'streamGenerateContent?alt=sse']) {
      const answer = await ask(`${model}:${action}`, body, { headers: { 'idempotency-key': key } });
      const failure = failureOf(answer);
      expect(failure).toMatchObject({ code: 400, status: 'INVALID_ARGUMENT' });
      if (param !== undefined) expect(failure.metadata).toEqual({ param });
      expect(failure.message).not.toMatch(/\b(messages|response_format|aspect_ratio|img_size|reference_images)\b/);
    }
    expect(await countRows(gateway.database)).toEqual(before);
    expect(await accountOf(gateway.database, project.projectId)).toMatchObject({ reserved: 0 });
  });

  it('is refused as METHOD_NOT_ALLOWED for a model without an action, which can only be read', async () => {
    const answer = await ask(chat, hello);
    expect(failureOf(answer)).toMatchObject({ code: 405, reason: 'METHOD_NOT_ALLOWED' });
    expect(answer.headers.allow).toBe('GET, HEAD');
  });

  it.each([':countTokens', ':generateContent:x', '/generateContent', ':streamGenerateContent:generateContent'])(
    'is refused as NOT_FOUND if the model is followed by "%s"',
    async (rest) => {
      expect(failureOf(await ask(`${chat}${rest}`, hello))).toMatchObject({ code: 404, status: 'NOT_FOUND' });
    },
  );

  it('is refused as METHOD_NOT_ALLOWED with an Allow header for GET', async () => {
    const answer = await sendRaw({
      method: 'GET',
      url: `${gateway.baseUrl}/api/v1beta/models/${chat}:generateContent`,
      headers: { 'x-goog-api-key': project.apiKey },
    });
    expect(failureOf(answer)).toMatchObject({ code: 405, reason: 'METHOD_NOT_ALLOWED' });
    expect(answer.headers.allow).toContain('POST');
  });

  it("is refused with Google's status for a key, a model or a project that may not be used", async () => {
    const path = `${chat}:generateContent`;
    expect(failureOf(await ask('no-such.model-9:generateContent', hello))).toMatchObject({
      code: 404,
      status: 'NOT_FOUND',
      metadata: { param: 'model' },
    });
    for (const model of [chat, picture]) {
      expect(failureOf(await ask(`${model}:generateContent`, hello, { key: narrow.apiKey }))).toMatchObject({
        code: 403,
        status: 'PERMISSION_DENIED',
      });
      expect(failureOf(await ask(`${model}:generateContent`, hello, { key: poor.apiKey }))).toMatchObject({
        code: 402,
        status: 'FAILED_PRECONDITION',
        reason: 'INSUFFICIENT_CREDITS',
      });
    }
    expect(failureOf(await ask(path, hello, { key: null }))).toMatchObject({ code: 401, status: 'UNAUTHENTICATED' });
    expect(failureOf(await ask(path, hello, { key: `${project.apiKey}x` }))).toMatchObject({
      code: 401,
      status: 'UNAUTHENTICATED',
    });
    for (const query of ['alt=xml', 'alt=sse', 'alt=json&$alt=sse', 'alt=json&alt=json', 'uploadType=media']) {
      expect(failureOf(await ask(`${path}?${query}`, hello))).toMatchObject({ code: 400, status: 'INVALID_ARGUMENT' });
    }
    expect(failureOf(await ask(`${path}?alt=json&$alt=sse`, hello)).message).toContain('must not differ');
    expect((await ask(`${path}?$alt=json;enum-encoding=int&prettyPrint=false`, hello)).status).toBe(200);
    expect(failureOf(await ask(`${path}?key=${project.apiKey}`, hello, { key: null }))).toMatchObject({ code: 401 });
  });

  it('is refused as RESOURCE_EXHAUSTED over the rate limit, for chats and for images', async () => {
    for (const model of [chat, picture]) {
      const { apiKey } = await gateway.project({ rpm: 1 });
      expect((await ask(`${model}:generateContent`, {}, { key: apiKey })).status).toBe(400);
      const over = await ask(`${model}:generateContent`, hello, { key: apiKey });
      expect(failureOf(over)).toMatchObject({ code: 429, status: 'RESOURCE_EXHAUSTED' });
      expect(Number(over.headers['retry-after'])).toBeGreaterThan(0);
      expect(over.text).toContain('google.rpc.RetryInfo');
    }
  });
});

describe('a chat on the Gemini route', () => {
  it('is answered by models of every provider family, with the key in other headers than x-goog-api-key', async () => {
    for (const model of [chat, 'gpt-5-mini', 'claude-sonnet-4.5']) {
      const answer = await ask(`${model}:generateContent`, withText(`hello ${model}`), {
        key: null,
        headers: { authorization: `Bearer ${project.apiKey}`, 'x-api-key': project.apiKey },
      });
      const { parts, modelVersion, candidates, usageMetadata } = responseOf(answer);
      expect(parts).toEqual([{ text: `Sandbox answer to: hello ${model}` }]);
      expect(modelVersion).toBe(model);
      expect(candidates[0]?.finishReason).toBe('STOP');
      expect(usageMetadata.promptTokenCount).toBeGreaterThan(0);
      expect(Number(answer.headers['x-tollgate-credits'])).toBeGreaterThan(0);
    }
  });

  it('returns the same bytes plain, as one event and as an array of one, and calls the upstream once per key', async () => {
    spec('4.7 streamGenerateContent');
    const headers = { 'idempotency-key': randomUUID() };
    const body = withText('three ways');
    const plain = await ask(`${chat}:generateContent`, body, { headers });
    expect(plain.headers['content-type']).toBe('application/json; charset=utf-8');
    const again = await ask(`${chat}:generateContent`, body, { headers });
    expect(again.text).toBe(plain.text);
    expect(again.headers['idempotent-replayed']).toBe('true');

    const streamed = { 'idempotency-key': randomUUID() };
    const events = await ask(`${chat}:streamGenerateContent?alt=sse`, body, { headers: streamed });
    expect(events.headers['content-type']).toBe('text/event-stream; charset=utf-8');
    const [, inner = ''] = /^data: (\{[^\n]*\})\n\n$/.exec(events.text) ?? [];
    expect(responseOf({ ...events, text: inner }).parts).toEqual(responseOf(plain).parts);
    const array = await ask(`${chat}:streamGenerateContent`, body, { headers: streamed });
    expect(array.headers['content-type']).toBe('application/json; charset=utf-8');
    expect(array.text).toBe(`[${inner}]`);
    expect(await gateway.hits('three ways', 'chat')).toHaveLength(2);
  });

  it('is refused if its Idempotency-Key was used for another model or another body', async () => {
    const headers = { 'idempotency-key': randomUUID() };
    responseOf(await ask(`${chat}:generateContent`, hello, { headers }));
    for (const [model, body] of [
      ['gpt-5-mini', hello],
      [chat, withText('goodbye')],
      [picture, hello],
    ] as const) {
      expect(failureOf(await ask(`${model}:generateContent`, body, { headers }))).toMatchObject({
        code: 422,
        reason: 'IDEMPOTENCY_KEY_REUSED',
      });
    }
  });

  it('costs nothing and gets CONTENT_POLICY_VIOLATION if the provider refuses the content', async () => {
    const before = await accountOf(gateway.database, project.projectId);
    const failure = failureOf(await ask(`${chat}:generateContent`, withText('[[fail=refused]]')));
    expect(failure).toMatchObject({ code: 400, status: 'INVALID_ARGUMENT', reason: 'CONTENT_POLICY_VIOLATION' });
    expect(await accountOf(gateway.database, project.projectId)).toEqual(before);
  });
});

const bytesOf = (data: string | undefined): Buffer => Buffer.from(data ?? '', 'base64');

/** Replaces the stored image of a task by a file of this size. */
async function enlarge(taskId: string, bytes: number): Promise<void> {
  const [file] = await gateway.database.query<{ storageKey: string }>(
    'test-enlarge',
    'update file set bytes = $2 where task_id = $1 returning storage_key',
    [taskId, bytes],
  );
  await writeFile(join(gateway.env['FILES_LOCAL_DIR'] ?? '', file?.storageKey ?? ''), Buffer.alloc(bytes, 'fox'));
}

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
    const stored = await fetch(task.output?.[0]?.url ?? '', { signal: AbortSignal.timeout(10_000) });
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
    const stored = await fetch(fileUri, { signal: AbortSignal.timeout(10_000) });
    expect(stored.status).toBe(200);
    expect(stored.headers.get('content-type')).toBe(output?.[7]?.mime_type);
    expect((await stored.arrayBuffer()).byteLength).toBe(output?.[7]?.bytes);
  });

  it('gets DEADLINE_EXCEEDED with its task id if it takes too long, and a retry with the same key returns it', async () => {
    const headers = { 'idempotency-key': randomUUID() };
    const body = withText('a slow fox [[latency=4000]]');
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
      body: JSON.stringify({ model: picture, prompt: 'a slow hen [[latency=4000]]' }),
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
    await enlarge(responseId, pictureBytes);
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
      const stored = await fetch(String(url), { signal: AbortSignal.timeout(10_000) });
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
        body: JSON.stringify(withText(`crowd ${index} [[latency=5000]]`)),
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
