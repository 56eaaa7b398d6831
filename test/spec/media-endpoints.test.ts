import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { quickCallbacks, type Receiver, startReceiver, verified } from '../services/callbacks/receiver.ts';
import { mediaRoutes, Task } from '../support/api-client.ts';
import { eventually } from '../support/eventually.ts';
import { type Gateway, startGateway, type TestProject } from '../support/gateway.ts';
import { entriesOf } from '../support/rows.ts';
import { spec } from './spec.ts';
import { expectRefused } from './endpoint-answers.ts';

let gateway: Gateway;
let receiver: Receiver;
let project: TestProject;

beforeAll(async () => {
  [gateway, receiver] = await Promise.all([startGateway({ env: quickCallbacks }), startReceiver()]);
  project = await gateway.project({ credits: 100_000 });
});
afterAll(async () => {
  await gateway?.stop();
  await receiver?.close();
});
afterEach(async () => expect(await gateway.verifyLedger()).toMatchObject({ ok: true }));

describe('POST /api/v1/images/upload', () => {
  it('accepts an image as multipart form or as body, and tasks accept its id and its URL', async () => {
    spec(
      '4 POST /api/v1/images/upload',
      '4.3 formats',
      '4.3 encoding and size',
      '4.3 returns',
      '4.4 image',
      '4.4 reference_images',
      '8 upload size',
    );
    const form = new FormData();
    form.append('file', new Blob([picture], { type: 'image/png' }), 'fox.png');
    const uploads = await Promise.all([upload(form), upload(picture, { 'content-type': 'image/png' })]);
    for (const file of uploads) {
      expect(file).toMatchObject({ object: 'file', mime_type: 'image/png', width: 64, height: 64 });
    }
    const [first, second] = uploads;
    const taskId = await gateway.accept(project.apiKey, mediaRoutes.image, {
      model: 'aurora-image-1',
      prompt: 'in watercolour',
      image: first?.id,
      reference_images: [second?.id, second?.url],
    });
    expect(await gateway.poll(project.apiKey, taskId)).toMatchObject({ status: 'succeeded' });
    expectRefused(await gateway.create('sk-nobody', '/api/v1/images/upload', ''), 401, 'invalid_api_key', null);
  });
});

describe('POST /api/v1/images/generate and /video/generate', () => {
  it('accept every input of the catalog and answer with a task_id, and the task shows each input', async () => {
    spec(
      '2.3 aspect_ratio',
      '2.3 variant list',
      '4 POST /api/v1/images/generate',
      '4 POST /api/v1/video/generate',
      '4.4 model',
      '4.4 prompt',
      '4.4 image',
      '4.4 video_url',
      '4.4 audio_url',
      '4.4 reference_images',
      '4.4 negative_prompt',
      '4.4 img_size',
      '4.4 aspect_ratio',
      '4.4 duration',
      '4.4 resolution',
      '4.4 generate_audio',
      '4.4 variant',
    );
    const https = (name: string) => `https://media.example.com/${name}`;
    const wishes: [keyof typeof mediaRoutes, Record<string, unknown>][] = [
      [
        'image',
        {
          model: 'aurora-image-1',
          image: https('a.png'),
          reference_images: [https('b.png')],
          negative_prompt: 'text',
          img_size: '4k',
          aspect_ratio: '3:4',
        },
      ],
      [
        'video',
        {
          model: 'veo-3.1',
          image: https('a.png'),
          aspect_ratio: '9:16',
          duration: 8,
          resolution: '720p',
          generate_audio: false,
          variant: 'quality-4k',
        },
      ],
      ['video', { model: 'runway-aleph', video_url: https('a.mp4'), resolution: 'default' }],
      ['video', { model: 'wan-2.5', audio_url: https('a.mp3'), resolution: '480p', duration: 10 }],
      ['video', { model: 'seedance-2', duration: 15 }],
    ];
    const taskIds = await Promise.all(
      wishes.map(([type, body]) =>
        gateway.accept(project.apiKey, mediaRoutes[type], { ...body, prompt: 'a fox [[fail=refused]]' }),
      ),
    );
    for (const [index, [type, wish]] of wishes.entries()) {
      const { model, variant, ...input } = wish;
      const task = await gateway.poll(project.apiKey, taskIds[index] ?? '');
      expect(task).toMatchObject({ type, model });
      expect(task.input).toMatchObject({
        prompt: 'a fox [[fail=refused]]',
        ...input,
        ...(variant !== undefined && { veo31_variant: variant }),
      });
    }
  });

  it('hold the price of the rule for the requested value or for the default', async () => {
    spec('2.2 credits_per_request', '2.3 pricingRules', '2.3 defaults');
    for (const [type, body, credits] of [
      ['image', { model: 'aurora-image-1', img_size: '2k' }, 8],
      ['image', { model: 'aurora-image-1' }, 4],
      ['video', { model: 'seedance-2', duration: 15 }, 570],
      ['video', { model: 'kling-2.5-turbo' }, 45],
      ['image', { model: 'flux-1.1-pro' }, 6],
    ] as const) {
      const body_ = { ...body, prompt: 'a fox [[fail=refused]]' };
      const created = await gateway.create(project.apiKey, mediaRoutes[type], body_);
      expect(Task.parse(created.body).credits).toMatchObject({ quoted: credits, reserved: credits });
      await gateway.poll(project.apiKey, created.taskId);
    }
  });

  it('refuse a model of another type, an input that the model lacks and a value that it does not list', async () => {
    spec(
      '2.3 flags',
      '2.3 img_size',
      '2.3 duration',
      '2.3 resolution',
      '4.4 model',
      '4.4 img_size',
      '4.4 duration',
      '4.4 resolution',
      '8 media values',
    );
    for (const [type, body, code, param] of [
      ['image', { model: 'veo-3.1' }, 'model_type_mismatch', 'model'],
      ['video', { model: 'aurora-image-1' }, 'model_type_mismatch', 'model'],
      ['image', { model: 'gpt-5-mini' }, 'model_type_mismatch', 'model'],
      ['image', { model: 'flux-1.1-pro', image: 'https://media.example.com/a.png' }, 'unsupported_parameter', 'image'],
      ['image', { model: 'aurora-image-1', img_size: '3k' }, 'invalid_value', 'img_size'],
      ['image', { model: 'seedream-4', img_size: '1k' }, 'invalid_value', 'img_size'],
      ['video', { model: 'kling-2.5-turbo', duration: 15 }, 'invalid_value', 'duration'],
      ['video', { model: 'seedance-2', duration: 16 }, 'invalid_value', 'duration'],
      ['video', { model: 'veo-3.1', resolution: '480p' }, 'invalid_value', 'resolution'],
    ] as const) {
      const answer = await gateway.create(project.apiKey, mediaRoutes[type], { prompt: 'a fox', ...body });
      expectRefused(answer, 400, code, param);
    }
  });

  it('send a signed callback to a public https callback_url when the task ends, and refuse other URLs', async () => {
    spec('4.4 callback_url', '6 callbacks only', '6 callback_url', '7 bad callback_url', '8 callback_url');
    const name = randomUUID();
    const taskId = await gateway.accept(project.apiKey, mediaRoutes.image, {
      model: 'aurora-image-1',
      prompt: 'a fox',
      callback_url: receiver.at(name),
    });
    const call = await eventually(() => Promise.resolve(receiver.calls(name)[0]));
    expect(verified(call, project.webhookSecret)).toMatchObject({
      type: 'task.succeeded',
      data: { task_id: taskId },
    });
    for (const callback_url of ['http://hooks.example.com/', 'https://localhost/', 'https://10.0.0.1/', 'hooks']) {
      const body = { model: 'aurora-image-1', prompt: 'a fox', callback_url };
      const refused = await gateway.create(project.apiKey, mediaRoutes.image, body);
      expectRefused(refused, 400, 'invalid_callback_url', 'callback_url');
    }
  });
});

describe('GET /api/v1/tasks/{task_id}', () => {
  it('returns a task with all its members from creation to success and charge', async () => {
    spec('2.4 task', '3 other task states', '4 GET /api/v1/tasks/{task_id}', '4.4 returns', '4.5 returns');
    const prompt = 'a fox [[latency=3000]]';
    const created = await gateway.create(project.apiKey, mediaRoutes.image, { model: 'flux-1.1-pro', prompt });
    const first = z.strictObject(Task.shape).parse(created.body);
    expect(first).toMatchObject({ task_id: created.taskId, output: null, error: null, completed_at: null });
    const { body } = await gateway.get(project.apiKey, `/api/v1/tasks/${created.taskId}`);
    expect(z.strictObject(Task.shape).parse(body).task_id).toBe(created.taskId);
    const ended = await gateway.poll(project.apiKey, created.taskId);
    expect(ended).toMatchObject({ status: 'succeeded', progress: 100, credits: { charged: 6, refunded: 0 } });
    expect((await fetch(ended.output?.[0]?.url ?? '')).status).toBe(200);
  });

  it('returns a task past its deadline as failed and refunded', async () => {
    spec('3 processing to failed', '4.8 check-stale-media-tasks');
    const mark = randomUUID();
    const taskId = await gateway.accept(project.apiKey, mediaRoutes.video, {
      model: 'kling-2.5-turbo',
      prompt: `a fox [[fail=never]] ${mark}`,
    });
    await gateway.poll(project.apiKey, taskId, { until: ({ status }) => status === 'processing' });
    await eventually(async () => (await gateway.hits(mark, 'submit')).length > 0);
    await gateway.database.query(
      'test-make-stale',
      `update task set deadline_at = clock_timestamp() - interval '1 second' where id = $1`,
      [taskId],
    );
    expect(await gateway.poll(project.apiKey, taskId)).toMatchObject({
      status: 'failed',
      error: { code: 'task_timeout' },
      credits: { charged: 0, refunded: 45 },
    });
    expect(await entriesOf(gateway.database, taskId)).toEqual({ refund: 1 });
  });
});
const UploadedFile = z.strictObject({
  id: z.string().regex(/^file_[0-9a-z]{26}$/),
  object: z.string(),
  url: z.string(),
  mime_type: z.string(),
  bytes: z.int(),
  width: z.int(),
  height: z.int(),
  sha256: z.string(),
  created_at: z.int(),
  expires_at: z.int(),
});

async function upload(body: FormData | Buffer<ArrayBuffer>, headers: Record<string, string> = {}) {
  const text = await eventually(async () => {
    const response = await fetch(`${gateway.baseUrl}/api/v1/images/upload`, {
      method: 'POST',
      headers: { authorization: `Bearer ${project.apiKey}`, ...headers },
      body,
    });
    const answer = await response.text();
    // On a busy machine the start of the decoder may take as long as a picture may.
    if (answer.includes('takes too long to decode')) return null;
    expect([response.status, answer]).toEqual([201, answer]);
    return answer;
  });
  return UploadedFile.parse(JSON.parse(text));
}

/** 64 by 64 pixels. */
const picture = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAEAAAABACAIAAAAlC+aJAAAAT0lEQVR42u3PQQkAAAgEsItjRBObwwi+hcEKLNP1WgQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQELguHpmFpj8NWjwAAAABJRU5ErkJggg==',
  'base64',
);
