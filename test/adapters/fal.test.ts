import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createFal } from '../../src/adapters/fal.ts';
import { byPolicy, mediaAdapterSuite } from './media-adapter-suite.ts';
import { openWire, type Wire } from './open-wire.ts';
import type { CannedReply } from './reply-server.ts';
import { savedReplies } from './saved-replies.ts';

const saved = savedReplies('fal');
const completed = saved('status-completed');

mediaAdapterSuite({
  family: 'fal',
  create: createFal,
  image: { model: 'fal-ai/flux/dev', parameters: { image_size: 'landscape_4_3' }, width: 1024, height: 768 },
  video: { model: 'fal-ai/veo3.1', parameters: { duration: '8s', resolution: '720p' } },
  polledType: 'image',
  supports: { find: false, cancel: true, probe: true },
  submit: saved('submit'),
  pending: [saved('status-in-queue'), saved('status-in-progress')],
  unusableSubmits: [{ request_id: '' }, { request_id: 'x'.repeat(600) }, { status: 'IN_QUEUE' }],
  unusablePolls: ['COMPLETED', { status: 7 }, { status: 'PAUSED' }],
  polls: [
    {
      name: 'several images',
      replies: [completed, saved('result-images')],
      expected: {
        kind: 'done',
        outputs: [
          { url: 'https://v3.fal.media/files/koala/abc_one.png', mimeType: 'image/png', width: 1024, height: 768 },
          { url: 'https://v3.fal.media/files/koala/abc_two.png' },
        ],
      },
    },
    {
      name: 'one image',
      replies: [completed, saved('result-image')],
      expected: {
        kind: 'done',
        outputs: [{ url: 'https://v3.fal.media/files/koala/upscaled.webp', mimeType: 'image/webp' }],
      },
    },
    {
      name: 'one clip',
      replies: [completed, saved('result-video')],
      expected: { kind: 'done', outputs: [{ url: 'https://v3.fal.media/files/panda/out.mp4', mimeType: 'video/mp4' }] },
    },
    {
      name: 'several clips, one of them named twice',
      replies: [completed, saved('result-videos')],
      expected: {
        kind: 'done',
        outputs: [
          { url: 'https://v3.fal.media/files/panda/a.mp4' },
          { url: 'https://v3.fal.media/files/panda/b.mp4', duration: 5.04 },
        ],
      },
    },
    { name: 'completed with a black image', replies: [completed, saved('result-nsfw')], expected: byPolicy },
    { name: 'completed without outputs', replies: [completed, saved('result-empty')], expected: { kind: 'failed' } },
    {
      name: 'completed, refused by a content checker',
      replies: [completed, saved('result-content-policy')],
      expected: { kind: 'refused', code: 'content_policy_violation', status: 422 },
    },
    {
      name: 'completed with an invalid input',
      replies: [completed, saved('result-image-too-small')],
      expected: { kind: 'refused', code: 'upstream_failed', status: 422 },
    },
    {
      name: 'completed, no media generated',
      replies: [completed, saved('result-no-media')],
      expected: { kind: 'failed', status: 422 },
    },
    {
      name: 'completed with an internal error',
      replies: [completed, saved('result-internal-error')],
      expected: { kind: 'failed', status: 500 },
    },
    {
      name: "completed with a partner's error",
      replies: [completed, saved('result-downstream-error')],
      expected: { kind: 'failed', status: 400 },
    },
    {
      name: 'completed with a timeout that the status also reports',
      replies: [saved('status-completed-with-error'), saved('result-timed-out')],
      expected: { kind: 'failed', status: 504 },
    },
    {
      name: 'completed with an error in a result of 200',
      replies: [saved('status-completed-with-error'), { status: 200, body: {} }],
      expected: { kind: 'failed' },
    },
    {
      name: 'completed, and a failing gateway hides the result',
      replies: [completed, { status: 503, text: 'upstream connect error' }],
      expected: { kind: 'unclear', status: 503 },
    },
    {
      name: 'completed, and the result has wrong types',
      replies: [completed, { status: 200, body: { images: 'many' } }],
      expected: { kind: 'unclear' },
    },
    {
      name: 'completed, and the result is not there yet',
      replies: [completed, { status: 404, body: { detail: 'not found' } }],
      expected: { kind: 'missing' },
    },
  ],
  refusals: [
    {
      name: 'content policy',
      reply: saved('result-content-policy'),
      expected: { kind: 'refused', code: 'content_policy_violation', errorClass: 'content_policy' },
    },
    {
      name: 'an invalid input',
      reply: saved('result-image-too-small'),
      expected: { kind: 'refused', code: 'upstream_failed', errorClass: 'rejected' },
    },
    {
      name: 'an exhausted balance',
      reply: saved('account-locked'),
      expected: { kind: 'transient', errorClass: 'account' },
    },
    {
      name: "a 500 with the provider's error",
      reply: saved('result-internal-error'),
      expected: { kind: 'transient', errorClass: 'provider_error', detail: 'HTTP 500 internal_server_error' },
    },
    {
      name: 'a 500 with other JSON',
      reply: { status: 500, body: { message: 'Internal Server Error' } },
      expected: { kind: 'unknown', errorClass: 'unreadable' },
    },
    {
      name: 'an unknown model',
      reply: { status: 404, body: { detail: 'Application "flux" not found' } },
      expected: { kind: 'transient', errorClass: 'unknown_model' },
    },
  ],
});

describe('the fal adapter on the wire', () => {
  let wire: Wire;
  beforeAll(async () => {
    wire = await openWire({
      create: createFal,
      credential: 'id:secret',
      submitted: saved('submit'),
      defaults: { type: 'image', model: 'fal-ai/flux/dev' },
    });
  });
  afterAll(() => wire.close());

  it('has the whole model in the submit path, and owner and app only in later paths', async () => {
    const { attempt, sent } = await wire.submit({});
    expect(sent).toMatchObject({
      method: 'POST',
      path: '/fal-ai/flux/dev',
      headers: { authorization: 'Key id:secret' },
    });
    expect(attempt).toEqual({
      kind: 'ok',
      value: { app: 'fal-ai/flux', request_id: '80e732af-660e-45cd-bd63-580e4f2a94cc' },
    });
  });

  it('sends mapped parameters unchanged, and no parameter can replace the prompt', async () => {
    const { body } = await wire.submit({
      parameters: { num_images: 2, prompt: 'another', image_size: { width: 640, height: 480 } },
    });
    expect(body).toEqual({ num_images: 2, prompt: 'a fox', image_size: { width: 640, height: 480 } });
  });

  it('has a field for one image, several images, a clip and a sound', async () => {
    const [first, second, third] = [
      { url: 'https://x.test/1' },
      { url: 'https://x.test/2' },
      { url: 'data:image/png;base64,AA' },
    ];
    expect((await wire.submit({ image: first })).body).toEqual({ prompt: 'a fox', image_url: first.url });
    expect((await wire.submit({ referenceImages: [second, third] })).body).toEqual({
      prompt: 'a fox',
      image_urls: [second.url, third.url],
    });
    expect((await wire.submit({ image: first, referenceImages: [second] })).body).toEqual({
      prompt: 'a fox',
      image_urls: [first.url, second.url],
    });
    const all = { image: first, referenceImages: [second], videoUrl: third, audioUrl: first };
    expect((await wire.submit({ type: 'video', ...all })).body).toEqual({
      prompt: 'a fox',
      image_url: first.url,
      reference_image_urls: [second.url],
      video_url: third.url,
      audio_url: first.url,
    });
  });

  it('polls the status before a cancel with spare, and cancels queued jobs only', async () => {
    const cancel = (running: 'spare' | 'stop', ...answers: CannedReply[]) => {
      wire.replies.answer(...answers);
      const providerRef = { app: 'fal-ai/flux', request_id: 'r1' };
      return wire.adapter.cancelMedia?.(wire.upstream, providerRef, { ...wire.options(), running });
    };
    const calls = () => wire.replies.received.map(({ method, path }) => `${method} ${path}`);
    const status = 'GET /fal-ai/flux/requests/r1/status';
    const stop = 'PUT /fal-ai/flux/requests/r1/cancel';
    const answer = (status: number, word: string): CannedReply => ({ status, body: { status: word } });
    const waiting = saved('status-in-queue');
    for (const reply of [saved('status-in-progress'), completed, answer(404, 'NOT_FOUND'), { status: 502, text: '' }]) {
      expect(await cancel('spare', reply)).toBe('not_stopped');
      expect(calls()).toEqual([status]);
    }
    expect(await cancel('spare', waiting, answer(200, 'OK'))).toBe('stopped');
    expect(calls()).toEqual([status, stop]);
    expect(await cancel('spare', waiting, answer(202, 'CANCELLATION_REQUESTED'))).toBe('unclear');
    expect(await cancel('spare', waiting, answer(400, 'ALREADY_COMPLETED'))).toBe('not_stopped');
    expect(await cancel('spare', waiting, { status: 502, text: '' })).toBe('unclear');
    expect(await cancel('stop', answer(202, 'CANCELLATION_REQUESTED'))).toBe('unclear');
    expect(calls()).toEqual([stop]);
  });
});
