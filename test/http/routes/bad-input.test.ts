import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { mediaRoutes } from '../../support/api-client.ts';
import { type Gateway, startGateway, type TestProject } from '../../support/gateway.ts';
import { type RawRequest, sendRaw } from '../../support/raw-request.ts';
import { accountOf, countRows } from '../../support/rows.ts';
import { spec } from '../../spec/spec.ts';
import {
  aurora,
  badCallbacks,
  badUrls,
  changed,
  ErrorBody,
  type FieldCase,
  imageCases,
  long,
  modelCases,
  veo,
  videoCases,
} from './bad-input-cases.ts';

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({ workers: 0, env: { EGRESS_ALLOW_CIDRS: '' } });
});
afterAll(() => gateway?.stop());

let project: TestProject;
let poor: TestProject;
let limited: TestProject;
let before: Awaited<ReturnType<typeof countRows>>;

/** Expects the refusal that the case describes, and that no row was written, not even for the Idempotency-Key. */
async function expectRefusal(route: string, { body, param, code, status = 400 }: FieldCase): Promise<void> {
  const key = randomUUID();
  const answer = await gateway.create(project.apiKey, route, body, { headers: { 'idempotency-key': key } });
  const { error } = ErrorBody.parse(answer.body);
  expect([answer.status, error.code, error.param]).toEqual([status, code ?? error.code, param]);
  if (code === undefined) expect(['invalid_value', 'missing_parameter']).toContain(error.code);
  expect(answer.headers.get('x-request-id')).toMatch(/^req_/);
  expect(answer.headers.get('x-should-retry')).toBe('false');
  await expectNothingWritten();
}

async function expectNothingWritten(): Promise<void> {
  expect(await countRows(gateway.database)).toEqual(before);
}

async function raw({
  method = 'POST',
  path = mediaRoutes.image,
  apiKey = project.apiKey,
  headers,
  body,
}: Partial<RawRequest> & { path?: string; apiKey?: string }) {
  const bytes = body === undefined ? undefined : Buffer.from(body);
  const answer = await sendRaw({
    method,
    url: `${gateway.baseUrl}${path}`,
    headers: {
      'x-api-key': apiKey,
      'content-type': 'application/json',
      ...(bytes && { 'content-length': String(bytes.length) }),
      ...headers,
    },
    ...(bytes && { body: bytes }),
  });
  const parsed = ErrorBody.safeParse(answer.text === '' ? {} : JSON.parse(answer.text));
  return { ...answer, error: parsed.success ? parsed.data.error : null };
}

/** Tests of refused requests to the media routes and to the model list. The gateway must have no worker and refuse private addresses. */
describe('bad input', () => {
  beforeAll(async () => {
    // Private addresses are refused, as in production. Without a worker, no task that a test creates is processed.
    project = await gateway.project({ credits: 1_000 });
    poor = await gateway.project({ credits: 3 });
    limited = await gateway.project({ models: ['flux-1.1-pro'], budget: 1 });
  });
  beforeEach(async () => {
    before = await countRows(gateway.database);
  });
  afterEach(async () => expect(await gateway.verifyLedger()).toMatchObject({ ok: true }));

  describe('POST /api/v1/images/generate', () => {
    it.each([...modelCases, ...imageCases])('refuses $what and writes no row', async (fieldCase) => {
      await expectRefusal(mediaRoutes.image, fieldCase);
    });

    it.each(badUrls)('refuses %j as an image', async (image) => {
      await expectRefusal(mediaRoutes.image, {
        what: 'image',
        body: { ...aurora, image },
        param: 'image',
        code: 'invalid_url',
      });
    });

    it.each(badCallbacks)('refuses %j as callback_url', async (callback_url) => {
      await expectRefusal(mediaRoutes.image, {
        what: 'callback_url',
        body: { ...aurora, callback_url },
        param: 'callback_url',
        code: 'invalid_callback_url',
      });
    });

    it('names the accepted values in the error message', async () => {
      const { body } = await gateway.create(project.apiKey, mediaRoutes.image, { ...aurora, img_size: '8k' });
      for (const size of ['1k', '2k', '4k']) expect(ErrorBody.parse(body).error.message).toContain(size);
    });

    it('suggests the name that was probably meant, of a model that the key may use', async () => {
      const messageFor = async (apiKey: string, body: object): Promise<string> =>
        ErrorBody.parse((await gateway.create(apiKey, mediaRoutes.image, body)).body).error.message;
      expect(await messageFor(project.apiKey, { ...aurora, model: 'aurora-image1' })).toBe(
        'There is no model aurora-image1. Did you mean aurora-image-1?',
      );
      expect(await messageFor(limited.apiKey, { ...aurora, model: 'aurora-image1' })).not.toContain('Did you mean');
      expect(await messageFor(project.apiKey, { ...aurora, aspectratio: '1:1' })).toBe(
        'The field aspectratio is not supported for the model aurora-image-1. Did you mean aspect_ratio?',
      );
    });

    it('quotes at most 100 characters of a refused value', async () => {
      for (const body of [
        { ...aurora, img_size: long(5_000) },
        { ...aurora, model: long(199) },
        { ...aurora, [long(5_000)]: 1 },
      ]) {
        const answer = await gateway.create(project.apiKey, mediaRoutes.image, body);
        const { error } = ErrorBody.parse(answer.body);
        expect(error.message).not.toContain(long(101));
        expect(error.param ?? '').not.toContain(long(101));
      }
    });

    it.each([
      ['an empty Idempotency-Key', ''],
      ['an Idempotency-Key of 256 characters', long(256)],
      ['an Idempotency-Key with a tab', 'a\tb'],
      ['an Idempotency-Key that is not ASCII', 'schlüssel'],
    ])('refuses %s', async (_what, key) => {
      const answer = await raw({
        headers: { 'idempotency-key': Buffer.from(key).toString('latin1') },
        body: JSON.stringify(aurora),
      });
      expect(answer).toMatchObject({ status: 400, error: { code: 'invalid_value', param: 'Idempotency-Key' } });
      await expectNothingWritten();
    });

    it('refuses two Idempotency-Key headers', async () => {
      const answer = await raw({ headers: { 'idempotency-key': ['a', 'b'] }, body: JSON.stringify(aurora) });
      expect(answer).toMatchObject({ status: 400, error: { code: 'invalid_value', param: 'Idempotency-Key' } });
      await expectNothingWritten();
    });

    it('treats null in an optional field as absent, and uses the last of duplicate JSON keys', async () => {
      const fields = ['img_size', 'aspect_ratio', 'image', 'reference_images', 'negative_prompt', 'callback_url'];
      const nothing = Object.fromEntries(fields.map((field) => [field, null]));
      expect(await gateway.create(project.apiKey, mediaRoutes.image, { ...aurora, ...nothing })).toMatchObject({
        status: 202,
      });
      const twice = '{"model":"nobody","prompt":"a fox","img_size":"4k","img_size":"2k","model":"aurora-image-1"}';
      expect(await gateway.create(project.apiKey, mediaRoutes.image, twice)).toMatchObject({
        status: 202,
        body: { model: 'aurora-image-1', input: { img_size: '2k' } },
      });
    });

    it('accepts a prompt of 10,000 code points outside the basic plane', async () => {
      spec('4.4 prompt');
      const prompt = '🦊'.repeat(10_000);
      expect(await gateway.create(project.apiKey, mediaRoutes.image, { ...aurora, prompt })).toMatchObject({
        status: 202,
      });
    });

    it('accepts a callback_url with a full-width dot in its host name and stores it normalised', async () => {
      const answer = await gateway.create(project.apiKey, mediaRoutes.image, {
        ...aurora,
        callback_url: 'https://EXAMPLE。com/hook',
      });
      expect(answer.status).toBe(202);
      const rows = await gateway.database.query('test-callback', 'select callback_url from task where id = $1', [
        answer.taskId,
      ]);
      expect(rows).toEqual([{ callbackUrl: 'https://example.com/hook' }]);
    });

    it('accepts a value of the parameter array that the form options do not offer', async () => {
      spec('2.3 options against arrays');
      const body = { model: 'seedream-5-lite', prompt: 'a fox', img_size: '3k' };
      expect(await gateway.create(project.apiKey, mediaRoutes.image, body)).toMatchObject({
        status: 202,
        body: { credits: { quoted: 5 } },
      });
    });
  });

  describe('POST /api/v1/video/generate', () => {
    it.each(videoCases)('refuses $what and writes no row', async (fieldCase) => {
      await expectRefusal(mediaRoutes.video, fieldCase);
    });

    it('accepts variant in place of the vendor’s own field', async () => {
      const answer = await gateway.create(project.apiKey, mediaRoutes.video, { ...veo, variant: 'lite' });
      expect(answer).toMatchObject({ status: 202, body: { input: { veo31_variant: 'lite' } } });
    });
  });

  describe('a refusal for lack of credits or permission', () => {
    it('is 402 insufficient_credits with x-should-retry: false', async () => {
      const answer = await raw({
        apiKey: poor.apiKey,
        headers: { 'idempotency-key': randomUUID() },
        body: JSON.stringify(aurora),
      });
      expect(answer).toMatchObject({
        status: 402,
        error: { code: 'insufficient_credits', type: 'billing_error', param: null },
      });
      expect(ErrorBody.parse({ error: answer.error }).error.message).toBe(
        'The project does not have enough credits: this request needs 4 and 3 are available.',
      );
      expect(answer.headers['x-should-retry']).toBe('false');
      await expectNothingWritten();
      expect(await accountOf(gateway.database, poor.projectId)).toEqual({ balance: 3, reserved: 0 });
    });

    it('is 402 key_budget_exceeded with x-should-retry: false', async () => {
      const body = JSON.stringify({ model: 'flux-1.1-pro', prompt: 'a fox' });
      const answer = await raw({ apiKey: limited.apiKey, headers: { 'idempotency-key': randomUUID() }, body });
      expect(answer).toMatchObject({ status: 402, error: { code: 'key_budget_exceeded', type: 'billing_error' } });
      expect(ErrorBody.parse({ error: answer.error }).error.message).toMatch(
        /^The budgets of this key do not cover the request: it needs \d+ credits and 1 are left\.$/,
      );
      expect(answer.headers['x-should-retry']).toBe('false');
      const { hold, idempotency, ledgerEntry: entries } = await countRows(gateway.database);
      expect([hold, idempotency, entries]).toEqual([before.hold, before.idempotency, before.ledgerEntry]);
    });

    it('is 403 model_not_allowed for a model outside the allowlist of the key', async () => {
      const answer = await raw({ apiKey: limited.apiKey, body: JSON.stringify(aurora) });
      expect(answer).toMatchObject({
        status: 403,
        error: { code: 'model_not_allowed', type: 'permission_error', param: 'model' },
      });
      await expectNothingWritten();
    });
  });

  describe('every route', () => {
    const badBodies: [string, string | Buffer][] = [
      ['an empty body', ''],
      ['half an object', '{'],
      ['NaN', '{"model":NaN}'],
      ['a trailing comma', '{"model":"aurora-image-1",}'],
      ['a byte order mark and invalid JSON', Buffer.from([0xef, 0xbb, 0xbf, 0x21])],
      ['UTF-16', Buffer.from('{"model":"aurora-image-1"}', 'utf16le')],
      ['an array', '[]'],
      ['a string', '"aurora-image-1"'],
      ['null', 'null'],
      ['__proto__', '{"__proto__":{"model":"x"},"model":"aurora-image-1","prompt":"a fox"}'],
      ['a NUL character', '{"model":"aurora-image-1","prompt":"a\\u0000fox"}'],
      ['a lone surrogate', '{"model":"aurora-image-1","prompt":"a\\ud800fox"}'],
      ['invalid UTF-8', Buffer.concat([Buffer.from('{"model":"'), Buffer.from([0xc3, 0x28]), Buffer.from('"}')])],
      ['33 levels', `${'{"a":'.repeat(33)}1${'}'.repeat(33)}`],
      ['a number that overflows to infinity', '{"model":"aurora-image-1","prompt":"a fox","duration":1e999}'],
    ];
    it.each(badBodies)('answers 400 invalid_json to %s', async (_what, body) => {
      const answer = await raw({ headers: { 'idempotency-key': randomUUID() }, body });
      expect(answer).toMatchObject({ status: 400, error: { code: 'invalid_json', type: 'invalid_request_error' } });
      await expectNothingWritten();
    });

    it.each([
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'application/json; charset=utf-16',
      '',
    ])('answers 415 to Content-Type %j', async (type) => {
      const answer = await raw({ headers: { 'content-type': type }, body: JSON.stringify(aurora) });
      expect(answer).toMatchObject({ status: 415, error: { code: 'unsupported_media_type' } });
      await expectNothingWritten();
    });

    it('answers 413 to a body of 5 MB', async () => {
      const answer = await raw({
        body: JSON.stringify({ ...aurora, image: `data:image/png;base64,${long(5_000_000)}` }),
      });
      expect(answer).toMatchObject({ status: 413, error: { code: 'payload_too_large' } });
      await expectNothingWritten();
    });

    const badCredentials: [string, () => RawRequest['headers']][] = [
      ['no credentials', () => ({})],
      ['an unknown key', () => ({ authorization: `Bearer sk-${long(46)}` })],
      ['a key with one changed character', () => ({ authorization: `Bearer ${changed(project.apiKey)}` })],
      [
        'a key with a space',
        () => ({ authorization: `Bearer ${project.apiKey.slice(0, 9)} ${project.apiKey.slice(9)}` }),
      ],
      ['a key that is not ASCII', () => ({ authorization: 'Bearer sk-\u00fc' })],
      ['a key of 10 kB', () => ({ 'x-api-key': long(10_000) })],
      ['the Basic scheme', () => ({ authorization: `Basic ${project.apiKey}` })],
      ['a job token', () => ({ authorization: `Bearer ${gateway.env['INTERNAL_JOB_TOKENS']}` })],
    ];
    it.each(badCredentials)('answers the same 401 to %s', async (_what, headers) => {
      const answer = await sendRaw({
        method: 'GET',
        url: `${gateway.baseUrl}/api/v1/models`,
        headers: headers() ?? {},
      });
      expect(answer.status).toBe(401);
      expect(answer.headers['www-authenticate']).toBe('Bearer');
      expect(ErrorBody.parse(JSON.parse(answer.text)).error).toEqual({
        code: 'invalid_api_key',
        type: 'authentication_error',
        param: null,
        message: 'The API key is not valid.',
      });
    });

    it('refuses a key in the query string', async () => {
      const answer = await sendRaw({ method: 'GET', url: `${gateway.baseUrl}/api/v1/models?key=${project.apiKey}` });
      expect(answer.status).toBe(401);
    });

    it('answers 400 to two different keys and accepts the same key twice', async () => {
      const two = (apiKey: string) =>
        sendRaw({
          method: 'GET',
          url: `${gateway.baseUrl}/api/v1/models`,
          headers: { authorization: `Bearer ${project.apiKey}`, 'x-api-key': apiKey },
        });
      const different = await two(poor.apiKey);
      expect(different.status).toBe(400);
      expect(ErrorBody.parse(JSON.parse(different.text)).error.code).toBe('ambiguous_credentials');
      expect((await two(project.apiKey)).status).toBe(200);
    });

    it.each([
      ['POST', '/api/v1/models', 405, 'method_not_allowed', 'GET, HEAD'],
      ['GET', '/api/v1/images/generate', 405, 'method_not_allowed', 'POST'],
      ['DELETE', '/api/v1/video/generate', 405, 'method_not_allowed', 'POST'],
      ['GET', '/api/v1/nothing', 404, 'not_found', undefined],
      ['GET', '/api/v1/tasks/', 404, 'not_found', undefined],
      ['POST', '/api/v1/Images/generate', 404, 'not_found', undefined],
      ['GET', '/api/v1/models/', 404, 'not_found', undefined],
    ])('answers %s %s with %i', async (method, path, status, code, allow) => {
      const answer = await raw({ method, path });
      expect(answer).toMatchObject({ status, error: { code } });
      expect(answer.headers['x-request-id']).toMatch(/^req_/);
      if (allow !== undefined) expect(answer.headers['allow']).toBe(allow);
    });
  });

  describe('GET /api/v1/models', () => {
    it('ignores a body and refuses unknown parameters', async () => {
      expect(await raw({ method: 'GET', path: '/api/v1/models', body: '{"a":' })).toMatchObject({ status: 200 });
      const answer = await raw({ method: 'GET', path: '/api/v1/models?page=-1&x[]=1' });
      expect(answer).toMatchObject({ status: 400, error: { code: 'unsupported_parameter', param: 'page' } });
    });

    it('hides inactive models in the list and by id', async () => {
      const list = await gateway.get(project.apiKey, '/api/v1/models');
      expect(JSON.stringify(list.body)).not.toContain('stable-diffusion-3.5');
      const one = await gateway.get(project.apiKey, '/api/v1/models/stable-diffusion-3.5');
      expect(one).toMatchObject({ status: 404, body: { error: { code: 'model_not_found' } } });
    });

    it('never exposes private catalog data: upstream names, costs and channels', async () => {
      spec('4.1 returns');
      const taskId = await gateway.accept(project.apiKey, mediaRoutes.image, {
        model: 'flux-1.1-pro',
        prompt: 'a fox',
      });
      for (const path of ['/api/v1/models', '/api/v1/models/flux-1.1-pro', `/api/v1/tasks/${taskId}`]) {
        const { status, body } = await gateway.get(project.apiKey, path);
        expect(status).toBe(200);
        expect(JSON.stringify(body)).not.toMatch(
          /private|"cost|per_million|"per_(request|second|image)"|verified|price_key|price_differs|loss_ok|retired|fal-ai|channel/,
        );
      }
    });

    it('answers 304 to a request with the ETag of the current list', async () => {
      spec('2.1 list');
      const list = await gateway.get(project.apiKey, '/api/v1/models');
      const etag = list.headers.get('etag') ?? '';
      const again = await gateway.get(project.apiKey, '/api/v1/models', { headers: { 'if-none-match': etag } });
      expect([again.status, again.body]).toEqual([304, {}]);
      expect(list.headers.get('cache-control')).toContain('private');
    });
  });

  describe('GET /api/v1/tasks/{id}', () => {
    it.each([
      'task_00000000000000000000000000',
      'nonsense',
      '..%2F..%2Fetc',
      '%00',
      "' or 1=1 --",
      long(3_000),
      'prj_1',
    ])('answers the same 404 to %j', async (id) => {
      const answer = await raw({ method: 'GET', path: `/api/v1/tasks/${id.replaceAll(' ', '%20')}` });
      expect(answer.status).toBe(404);
      expect(answer.error).toEqual({
        code: 'task_not_found',
        type: 'not_found_error',
        param: null,
        message: 'There is no such task.',
      });
    });
  });
});
