import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { quickCallbacks, startReceiver, verified, type Receiver } from '../../services/callbacks/receiver.ts';
import { mediaRoutes, type Answer, type CreateOptions } from '../../support/api-client.ts';
import { eventually } from '../../support/eventually.ts';
import { startGateway, type Gateway, type TestProject } from '../../support/gateway.ts';
import { startRecordingUpstream, type RecordingUpstream } from '../../support/recording-upstream.ts';
import { untilCalled } from '../../support/until-called.ts';
import { accountOf, countRows, entriesOf } from '../../support/rows.ts';
import { spec } from '../../spec/spec.ts';

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({ env: quickCallbacks });
});
afterAll(() => gateway?.stop());

let receiver: Receiver;
let upstream: RecordingUpstream;
let project: TestProject;

const route = '/api/v1/api/generate';
/** The three legacy routes that return a task, and the query parameter of each. */
const reads = {
  result: { path: (id: string) => `/api/v1/api/result?id=${id}`, param: 'id' },
  video: { path: (id: string) => `/api/v1/video/status?task_id=${id}`, param: 'task_id' },
  workflow: { path: (id: string) => `/api/v1/internal/workflow-status?uuid=${id}`, param: 'uuid' },
};
const statuses = ['pending', 'processing', 'completed', 'failed'];

const create = (
  body: unknown,
  { apiKey = project.apiKey, ...options }: CreateOptions & { apiKey?: string } = {},
): Promise<Answer> => gateway.create(apiKey, route, body, options);

async function accepted(body: unknown): Promise<Answer> {
  const answer = await create(body);
  expect({ status: answer.status, body: answer.body }).toMatchObject({ status: 200, body: { success: true } });
  return answer;
}

async function read(name: keyof typeof reads, taskId: string): Promise<Answer> {
  const answer = await gateway.get(project.apiKey, reads[name].path(taskId));
  expect({ status: answer.status, body: answer.body }).toMatchObject({ status: 200, body: { success: true } });
  return answer;
}

/** Expects the OpenAI error body with `success: false` beside it, which is the legacy dialect. */
function expectError({ status, headers, body }: Answer, wanted: number, code: string, param?: string | null): void {
  expect({ status, body }).toMatchObject({
    status: wanted,
    body: {
      success: false,
      error: {
        message: expect.any(String),
        type: expect.any(String),
        param: param === undefined ? null : param,
        code,
      },
    },
  });
  expect(headers.get('x-request-id')).toMatch(/^req_/);
}

/** 64 by 64 pixels. */
const picture =
  'iVBORw0KGgoAAAANSUhEUgAAAEAAAABACAIAAAAlC+aJAAAAT0lEQVR42u3PQQkAAAgEsItjRBObwwi+hcEKLNP1WgQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQELguHpmFpj8NWjwAAAABJRU5ErkJggg==';

/** Tests of the legacy routes. The gateway must have `quickCallbacks`. The channels lead nowhere afterwards. */
describe('the legacy API', () => {
  beforeAll(async () => {
    receiver = await startReceiver();
    upstream = await startRecordingUpstream(gateway.sandboxUrl);
    project = await gateway.project({ credits: 10_000 });
    await gateway.database.query(
      'test-record-upstream',
      `update channel set base_url = $1 || substring(base_url from length($2) + 1), enabled = (adapter = 'fal')`,
      [upstream.url, gateway.sandboxUrl],
    );
    await untilCalled(gateway, () => upstream.calls.length > 0);
  });
  afterAll(async () => {
    await Promise.all([receiver.close(), upstream.close()]);
  });
  afterEach(async () => expect(await gateway.verifyLedger()).toMatchObject({ ok: true }));

  describe('a client of the legacy API', () => {
    it('creates an image, polls its task on each route, downloads the image and is charged once', async () => {
      spec('4.6 imageSize', '4.6 create returns');
      const created = await create({
        model: 'aurora-image-1',
        type: 'image',
        prompt: 'a red fox',
        aspectRatio: '16:9',
        imageSize: '2k',
      });
      const { taskId } = created;
      expect(created.status).toBe(200);
      expect(statuses).toContain(created.body['status']);
      const { status } = created.body;
      expect(created.body).toEqual({
        success: true,
        task_id: taskId,
        id: taskId,
        status,
        data: { task_id: taskId, status },
      });
      const seen = new Set<unknown>();
      const done = await eventually(async () => {
        const { body } = await read('workflow', taskId);
        seen.add(body['status']);
        return body['status'] === 'completed' && body;
      });
      expect(statuses).toEqual(expect.arrayContaining([...seen]));

      const task = await gateway.poll(project.apiKey, taskId);
      expect(task).toMatchObject({
        type: 'image',
        status: 'succeeded',
        input: { prompt: 'a red fox', img_size: '2k', aspect_ratio: '16:9' },
        credits: { quoted: 8, reserved: 8, charged: 8, refunded: 0 },
      });
      expect(await entriesOf(gateway.database, taskId)).toEqual({ settle: 1 });
      const url = task.output?.[0]?.url ?? '';
      const state = { status: 'completed', progress: 100, error: null };
      expect(done).toEqual({ success: true, uuid: taskId, ...state, images: [url] });
      expect((await read('result', taskId)).body).toEqual({
        success: true,
        id: taskId,
        task_id: taskId,
        ...state,
        results: [{ url }],
      });
      expect((await read('video', taskId)).body).toEqual({
        success: true,
        data: { task_id: taskId, ...state, url, urls: [url] },
      });
      const picture = await fetch(url);
      expect([picture.status, picture.headers.get('content-type')]).toEqual([200, 'image/png']);
    });

    it('creates a video by an alias without a type and downloads it', async () => {
      const { taskId } = await accepted({ model: 'kling-turbo-10s', prompt: 'a dancer turns', aspectRatio: '9:16' });
      const done = await eventually(async () => {
        const { body } = await read('video', taskId);
        const { status, url } = Object(body['data']) as Record<string, unknown>;
        expect(statuses).toContain(status);
        return status === 'completed' && typeof url === 'string' && url;
      });
      expect(await gateway.poll(project.apiKey, taskId)).toMatchObject({
        type: 'video',
        model: 'kling-2.5-turbo',
        input: { duration: 10, aspect_ratio: '9:16' },
        output: [{ url: done, mime_type: 'video/mp4' }],
        credits: { charged: 90 },
      });
      expect((await fetch(done)).status).toBe(200);
      expect((await read('result', taskId)).body).toMatchObject({ status: 'completed', results: [{ url: done }] });
      expect((await read('workflow', taskId)).body).toMatchObject({ status: 'completed', images: [done] });
    });

    it('gets the error of a failed task on each route and is charged nothing', async () => {
      const { taskId } = await accepted({ model: 'aurora', prompt: 'a fox [[fail=refused]]' });
      await gateway.poll(project.apiKey, taskId);
      const failed = {
        status: 'failed',
        error: { code: 'content_policy_violation', message: expect.any(String), retryable: false },
      };
      expect((await read('result', taskId)).body).toMatchObject({ success: true, ...failed, results: [] });
      expect((await read('video', taskId)).body).toMatchObject({ data: { ...failed, url: null, urls: [] } });
      const { body } = await read('workflow', taskId);
      expect(body).toMatchObject({ ...failed, images: [] });
      expect(body).not.toHaveProperty('canceled');
      expect(await entriesOf(gateway.database, taskId)).toEqual({ refund: 1 });
    });

    it('gets a canceled task as failed with canceled: true', async () => {
      const mark = randomUUID();
      const { taskId } = await accepted({ model: 'aurora', prompt: `a fox [[fail=never]] ${mark}` });
      await eventually(async () => (await gateway.hits(mark, 'submit')).length > 0);
      expect((await gateway.create(project.apiKey, `/api/v1/tasks/${taskId}/cancel`, '')).status).toBe(200);
      const canceled = { status: 'failed', canceled: true, error: { code: 'canceled' } };
      expect((await read('result', taskId)).body).toMatchObject({ success: true, ...canceled, results: [] });
      expect((await read('video', taskId)).body).toMatchObject({ success: true, data: canceled });
      expect((await read('workflow', taskId)).body).toMatchObject({ success: true, ...canceled });
    });

    it('gets images and videos that were created on the core routes', async () => {
      const [image, video] = await Promise.all([
        gateway.accept(project.apiKey, mediaRoutes.image, { model: 'flux-1.1-pro', prompt: 'a fox' }),
        gateway.accept(project.apiKey, mediaRoutes.video, { model: 'kling-2.5-turbo', prompt: 'a fox' }),
      ]);
      for (const taskId of [image, video]) {
        const url = (await gateway.poll(project.apiKey, taskId)).output?.[0]?.url;
        expect((await read('result', taskId)).body).toMatchObject({ task_id: taskId, results: [{ url }] });
        expect((await read('video', taskId)).body).toMatchObject({ data: { task_id: taskId, url } });
        expect((await read('workflow', taskId)).body).toMatchObject({ uuid: taskId, images: [url] });
      }
    });

    it('gets a callback with the task in the format of the core route', async () => {
      spec('4.6 callback_url');
      const name = randomUUID();
      const { taskId } = await accepted({ model: 'aurora', prompt: 'a fox', callback_url: receiver.at(name) });
      const call = await eventually(() => Promise.resolve(receiver.calls(name)[0]));
      expect(verified(call, project.webhookSecret)).toMatchObject({
        type: 'task.succeeded',
        data: { task_id: taskId, status: 'succeeded', model: 'aurora-image-1' },
      });
    });
  });

  describe('an alias', () => {
    it.each([
      ['aurora', 'aurora-image-1', { img_size: '1k' }, 4],
      ['aurora-4k', 'aurora-image-1', { img_size: '4k' }, 16],
      ['nano-banana-4k', 'nano-banana-pro', { img_size: '4k' }, 38],
      ['veo31', 'veo-3.1', { veo31_variant: 'fast', duration: 8 }, 600],
      ['veo31-lite', 'veo-3.1', { veo31_variant: 'lite', duration: 8 }, 600],
      ['veo31-quality-4k', 'veo-3.1', { veo31_variant: 'quality-4k', duration: 8 }, 600],
      ['kling-turbo-10s', 'kling-2.5-turbo', { duration: 10 }, 90],
      ['seedance-1-pro', 'seedance-2', { duration: 5 }, 190],
      ['sora-2', 'kling-3', { duration: 5 }, 105],
    ])(
      'stands for a model with preset parameters and for their price: %s is %s',
      async (alias, model, input, credits) => {
        spec('4.6 model and aliases');
        const { taskId } = await accepted({ model: alias, prompt: 'a fox [[fail=refused]]' });
        const { body } = await gateway.get(project.apiKey, `/api/v1/tasks/${taskId}`);
        expect(body).toMatchObject({ model, input, credits: { quoted: credits } });
        await gateway.poll(project.apiKey, taskId);
      },
    );

    it('accepts further parameters and refuses one that contradicts its preset', async () => {
      const { taskId } = await accepted({
        model: 'veo31-quality',
        prompt: 'a fox [[fail=refused]]',
        duration: 8,
        variant: 'quality',
        imageSize: null,
      });
      expect(await gateway.poll(project.apiKey, taskId)).toMatchObject({
        input: { veo31_variant: 'quality', duration: 8 },
        credits: { quoted: 600 },
      });
      for (const [body, param] of [
        [{ model: 'aurora-4k', imageSize: '1k' }, 'imageSize'],
        [{ model: 'aurora-4k', img_size: '1k' }, 'img_size'],
        [{ model: 'kling-turbo-10s', duration: 5 }, 'duration'],
        [{ model: 'veo31-lite', variant: 'quality' }, 'variant'],
        [{ model: 'veo31-lite', veo31_variant: 'quality' }, 'veo31_variant'],
      ] as const) {
        expectError(await create({ prompt: 'a fox', ...body }), 400, 'invalid_value', param);
      }
    });

    it('is unknown on the core routes and absent from the model list', async () => {
      spec('4.6 model and aliases');
      const refused = await gateway.create(project.apiKey, mediaRoutes.image, { model: 'aurora', prompt: 'a fox' });
      expect(refused).toMatchObject({ status: 404, body: { error: { code: 'model_not_found' } } });
      expect(refused.body).not.toHaveProperty('success');
      const { body } = await gateway.get(project.apiKey, '/api/v1/models');
      expect(JSON.stringify(body)).not.toContain('kling-turbo-10s');
    });

    it('is allowed for a key if its model is allowed', async () => {
      const { apiKey } = await gateway.key(project.projectId, { models: ['kling-2.5-turbo'] });
      expectError(await create({ model: 'aurora', prompt: 'a fox' }, { apiKey }), 403, 'model_not_allowed', 'model');
      const taken = await create({ model: 'kling-turbo-10s', prompt: 'a fox [[fail=refused]]' }, { apiKey });
      expect(taken.status).toBe(200);
      await gateway.poll(apiKey, taken.taskId);
    });
  });

  describe('the field images', () => {
    const a = 'https://images.example.com/a.png';
    const b = 'https://images.example.com/b.png';
    it.each([
      ['as a string is the image', 'aurora-image-1', a, { image: a }],
      ['as an array of one is the image', 'kling-2.5-turbo', [a], { image: a }],
      ['has the image first and reference images after it', 'seedream-4', [a, b], { image: a, reference_images: [b] }],
      ['has only reference images if the two exclude each other', 'veo-3.1', [a, b], { reference_images: [a, b] }],
      ['as an array of one is the image even then', 'veo-3.1', [a], { image: a }],
      [
        'has only reference images if the model accepts only those',
        'nano-banana-pro',
        [a, b],
        { reference_images: [a, b] },
      ],
      [
        'as a string is a reference image if the model accepts only those',
        'nano-banana-pro',
        a,
        { reference_images: [a] },
      ],
    ])('%s', async (_what, model, images, input) => {
      const { taskId } = await accepted({ model, prompt: 'a fox [[fail=refused]]', images });
      const task = await gateway.poll(project.apiKey, taskId);
      const { image, reference_images: references } = task.input ?? {};
      expect({ image, reference_images: references }).toEqual({
        image: undefined,
        reference_images: undefined,
        ...input,
      });
    });

    it('is ignored if it is empty or null, even for a model that accepts no images', async () => {
      for (const images of [[], null]) {
        const { taskId } = await accepted({ model: 'flux-1.1-pro', prompt: 'a fox [[fail=refused]]', images });
        expect(await gateway.poll(project.apiKey, taskId)).toMatchObject({
          input: { prompt: 'a fox [[fail=refused]]', aspect_ratio: '1:1' },
        });
      }
    });

    it('may hold a data URI, which is stored and reaches the upstream as the same bytes', async () => {
      spec('4.6 images');
      const mark = randomUUID();
      const { taskId } = await accepted({
        model: 'aurora',
        prompt: `in watercolour ${mark}`,
        images: [`data:image/png;base64,${picture}`],
      });
      const task = await gateway.poll(project.apiKey, taskId);
      expect(task).toMatchObject({
        status: 'succeeded',
        input: { image: expect.stringMatching(/^file_[0-9a-z]{26}$/) },
      });
      const submits = upstream.calls.filter(({ body }) => body.includes(mark));
      expect(submits).toHaveLength(1);
      expect(submits[0]?.body).toContain(picture);
    });
  });

  describe('a field that the model does not support', () => {
    it('is ignored if it is an optional setting', async () => {
      spec('4.6 aspectRatio');
      const mark = randomUUID();
      const { taskId } = await accepted({
        model: 'flux-1.1-pro',
        prompt: `a fox ${mark}`,
        imageSize: '4k',
        duration: 5,
        resolution: '720p',
        negative_prompt: 'blur',
        webHook: '-1',
        shutProgress: true,
      });
      const task = await gateway.poll(project.apiKey, taskId);
      expect(task.input).toEqual({ prompt: `a fox ${mark}`, aspect_ratio: '1:1' });
      expect(task.credits).toMatchObject({ charged: 6 });
      const [submit] = upstream.calls.filter(({ body }) => body.includes(mark));
      expect(submit?.body).not.toMatch(/4k|720p|blur|shutProgress/i);
    });

    it('gets 400 if it is an image, a video or an audio file', async () => {
      spec('4.6 images');
      const url = 'https://media.example.com/a';
      for (const [model, field, value] of [
        ['flux-1.1-pro', 'images', [url]],
        ['flux-1.1-pro', 'images', url],
        ['flux-1.1-pro', 'image', url],
        ['kling-2.5-turbo', 'reference_images', [url]],
        ['kling-2.5-turbo', 'video_url', url],
        ['aurora', 'audio_url', url],
        ['kling-2.5-turbo', 'firstFrameUrl', url],
      ] as const) {
        expectError(await create({ model, prompt: 'a fox', [field]: value }), 400, 'unsupported_parameter', field);
      }
    });
  });

  describe('an Idempotency-Key', () => {
    it('creates one task, returns its current state to a repeated request and refuses another body', async () => {
      const body = { model: 'aurora', prompt: `a fox ${randomUUID()}` };
      const headers = { 'idempotency-key': randomUUID() };
      const first = await create(body, { headers });
      await gateway.poll(project.apiKey, first.taskId);
      const again = await create(body, { headers });
      expect(again).toMatchObject({
        status: 200,
        body: { success: true, task_id: first.taskId, status: 'completed', data: { status: 'completed' } },
      });
      expect(again.headers.get('idempotent-replayed')).toBe('true');
      expect(await entriesOf(gateway.database, first.taskId)).toEqual({ settle: 1 });
      expectError(await create({ ...body, imageSize: '4k' }, { headers }), 422, 'idempotency_key_reused', null);
    });
  });

  describe('an invalid request', () => {
    it('gets 400 or 404 with the legacy name of the field, and neither writes rows nor uses up its Idempotency-Key', async () => {
      spec('4.6 type');
      const rows = await countRows(gateway.database);
      const account = await accountOf(gateway.database, project.projectId);
      const headers = { 'idempotency-key': randomUUID() };
      const url = 'https://images.example.com/a.png';
      const good = { model: 'aurora-image-1', prompt: 'a fox [[fail=refused]]' };
      const cases: [Record<string, unknown>, number, string, string][] = [
        [{ model: undefined }, 400, 'missing_parameter', 'model'],
        [{ model: 7 }, 400, 'invalid_value', 'model'],
        [{ model: 'no-such-alias' }, 404, 'model_not_found', 'model'],
        [{ model: '__proto__' }, 404, 'model_not_found', 'model'],
        [{ model: 'stable-diffusion-3.5' }, 404, 'model_not_found', 'model'],
        [{ model: 'gpt-5-mini' }, 400, 'model_type_mismatch', 'model'],
        [{ type: 'audio' }, 400, 'invalid_value', 'type'],
        [{ type: 'video' }, 400, 'invalid_value', 'type'],
        [{ type: 1 }, 400, 'invalid_value', 'type'],
        [{ model: 'veo31', type: 'image' }, 400, 'invalid_value', 'type'],
        [{ prompt: undefined }, 400, 'missing_parameter', 'prompt'],
        [{ prompt: ' ' }, 400, 'invalid_value', 'prompt'],
        [{ aspectRatio: '1:0' }, 400, 'invalid_value', 'aspectRatio'],
        [{ aspectRatio: '16x9' }, 400, 'invalid_value', 'aspectRatio'],
        [{ aspectRatio: 1 }, 400, 'invalid_value', 'aspectRatio'],
        [{ aspect_ratio: '16x9' }, 400, 'invalid_value', 'aspect_ratio'],
        [{ aspectRatio: '16:9', aspect_ratio: '1:1' }, 400, 'invalid_value', 'aspectRatio'],
        [{ imageSize: '9k' }, 400, 'invalid_value', 'imageSize'],
        [{ imageSize: 2048 }, 400, 'invalid_value', 'imageSize'],
        [{ images: {} }, 400, 'invalid_value', 'images'],
        [{ images: { url } }, 400, 'invalid_value', 'images'],
        [{ images: '' }, 400, 'invalid_value', 'images'],
        [{ images: [url, null] }, 400, 'invalid_value', 'images'],
        [{ images: [[url]] }, 400, 'invalid_value', 'images'],
        [{ images: Array.from({ length: 50 }, () => url) }, 400, 'invalid_value', 'images'],
        [{ model: 'nano-banana-pro', images: Array.from({ length: 9 }, () => url) }, 400, 'invalid_value', 'images'],
        [{ model: 'kling-2.5-turbo', images: [url, url] }, 400, 'invalid_value', 'images'],
        [{ images: [url], image: url }, 400, 'invalid_value', 'images'],
        [{ images: ['https://10.0.0.1/a.png'] }, 400, 'invalid_url', 'images'],
        [{ images: [url, 'https://169.254.169.254/a.png'] }, 400, 'invalid_url', 'images'],
        [{ images: 'http://images.example.com/a.png' }, 400, 'invalid_url', 'images'],
        [{ images: 'data:image/png;base64,AAAA' }, 400, 'invalid_image', 'images'],
        [{ images: `file_${'0'.repeat(26)}` }, 404, 'file_not_found', 'images'],
        [{ callback_url: 'http://hooks.example.com/' }, 400, 'invalid_callback_url', 'callback_url'],
        [{ callback_url: 'https://10.0.0.1/' }, 400, 'invalid_callback_url', 'callback_url'],
        [{ callback_url: 5 }, 400, 'invalid_callback_url', 'callback_url'],
      ];
      for (const [change, status, code, param] of cases) {
        const answer = await create({ ...good, ...change }, { headers });
        expect({ change, status: answer.status }).toEqual({ change, status });
        expectError(answer, status, code, param);
        expect(JSON.stringify(answer.body)).not.toMatch(/reference_images|img_size/);
      }
      expect(await countRows(gateway.database)).toEqual(rows);
      expect(await accountOf(gateway.database, project.projectId)).toEqual(account);
      const taken = await create(good, { headers });
      expect(taken.status).toBe(200);
      await gateway.poll(project.apiKey, taken.taskId);
    });

    it('gets refusals that do not depend on its fields in the same dialect', async () => {
      const body = { model: 'aurora', prompt: 'a fox' };
      expectError(await create('{'), 400, 'invalid_json', null);
      expectError(await create(body, { headers: { 'content-type': 'text/plain' } }), 415, 'unsupported_media_type');
      expectError(await create(body, { headers: { 'idempotency-key': 'ü' } }), 400, 'invalid_value', 'Idempotency-Key');
      expectError(await create(body, { apiKey: 'sk-nobody' }), 401, 'invalid_api_key', null);
      const poor = await gateway.project({ credits: 0 });
      expectError(await create(body, { apiKey: poor.apiKey }), 402, 'insufficient_credits', null);
      const wrongMethod = await gateway.get(project.apiKey, route);
      expectError(wrongMethod, 405, 'method_not_allowed', null);
      expect(wrongMethod.headers.get('allow')).toBe('POST');
    });
  });

  describe.each(['result', 'video', 'workflow'] as const)('the legacy %s route', (name) => {
    const { path, param } = reads[name];

    it('answers a missing id, an unknown id and the id of another project in its own envelope', async () => {
      const [base = ''] = path('').split('?');
      const expectEnvelope = (answer: Answer, status: number, code: string, at: string | null) => {
        expectError(answer, status, code, at);
        if (name === 'video') expect(answer.body['data']).toBeNull();
        else expect(Object.keys(answer.body)).toEqual(['success', 'error']);
      };
      expectEnvelope(await gateway.get(project.apiKey, base), 400, 'missing_parameter', param);
      expectEnvelope(await gateway.get(project.apiKey, path('')), 400, 'missing_parameter', param);
      expectEnvelope(await gateway.get(project.apiKey, `${path('a')}&${param}=b`), 400, 'invalid_value', param);
      const unknown = await gateway.get(project.apiKey, path(`task_${'0'.repeat(26)}`));
      expectEnvelope(unknown, 404, 'task_not_found', null);
      expectEnvelope(await gateway.get(project.apiKey, path('%00')), 404, 'task_not_found', null);

      const otherProject = await gateway.project();
      const { taskId } = await create({ model: 'aurora', prompt: 'a fox [[fail=refused]]' }, otherProject);
      await gateway.poll(otherProject.apiKey, taskId);
      const foreign = await gateway.get(project.apiKey, path(taskId));
      expect([foreign.status, foreign.body]).toEqual([404, unknown.body]);
    });

    it('refuses a job token as API key', async () => {
      spec('4 GET /api/v1/internal/workflow-status?uuid={task_id}');
      const token = 'job-token-0123456789-0123456789-0123456789';
      const refused = await gateway.get(token, path(`task_${'0'.repeat(26)}`));
      expectError(refused, 401, 'invalid_api_key', null);
      expect(refused.headers.get('www-authenticate')).toBe('Bearer');
    });
  });
});
