import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { type Gateway, startGateway, type TestProject } from '../../support/gateway.ts';
import { sendRaw } from '../../support/raw-request.ts';
import { accountOf, countRows } from '../../support/rows.ts';
import { spec } from '../../spec/spec.ts';
import { type AskOptions, failureOf, hello, image, picture, responseOf, withText } from './gemini-answers.ts';

let gateway: Gateway;
let project: TestProject;
let poor: TestProject;
let narrow: TestProject;
beforeAll(async () => {
  gateway = await startGateway({
    env: { IMAGE_WAIT_SECONDS: '60', IMAGE_WAITS_MAX: '2', INLINE_IMAGES_MAX_BYTES: '40000' },
  });
  project = await gateway.project({ credits: 10_000 });
  poor = await gateway.project({ credits: 0 });
  narrow = await gateway.project({ models: ['gpt-5-mini'] });
});
afterAll(() => gateway.stop());
afterEach(async () => expect(await gateway.verifyLedger()).toMatchObject({ ok: true }));

const chat = 'gemini-2.5-flash';

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
