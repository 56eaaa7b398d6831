import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTollgate } from '../../src/adapters/tollgate.ts';
import { byPolicy, mediaAdapterSuite } from './media-adapter-suite.ts';
import { openWire, type Wire } from './open-wire.ts';
import { savedReplies } from './saved-replies.ts';

const saved = savedReplies('tollgate');

mediaAdapterSuite({
  family: 'tollgate',
  create: createTollgate,
  image: { model: 'aurora-image-1', parameters: { img_size: '2k', aspect_ratio: '1:1' }, width: 2_048, height: 2_048 },
  video: { model: 'veo-3.1', parameters: { duration: 8, resolution: '720p' } },
  polledType: 'image',
  supports: { find: true, cancel: true, probe: true },
  submit: saved('created'),
  pending: [saved('created'), saved('processing')],
  unusableSubmits: [{ task_id: '' }, { task_id: 'x'.repeat(600) }, { status: 'queued' }],
  unusablePolls: ['done', { task_id: 'a', status: 7 }, { task_id: 'a', status: 'paused' }, { task_id: 'a' }],
  polls: [
    {
      name: 'succeeded with two pictures',
      replies: [saved('succeeded')],
      expected: {
        kind: 'done',
        outputs: [
          {
            url: 'https://gateway.test/files/file_1?expires=1763790000&signature=abc',
            mimeType: 'image/png',
            width: 1_024,
            height: 768,
          },
          { url: 'https://gateway.test/files/file_2?expires=1763790000&signature=abc', mimeType: 'image/png' },
        ],
      },
    },
    {
      name: 'succeeded with a clip',
      replies: [saved('succeeded-clip')],
      expected: { kind: 'done', outputs: [{ mimeType: 'video/mp4', duration: 8.04 }] },
    },
    { name: 'succeeded without outputs', replies: [saved('succeeded-empty')], expected: { kind: 'failed' } },
    { name: 'progress', replies: [saved('processing')], expected: { kind: 'pending', progress: 40 } },
    { name: 'failed', replies: [saved('failed')], expected: { kind: 'failed' } },
    {
      name: 'failed with an unknown outcome, and refunded',
      replies: [saved('failed-unknown')],
      expected: { kind: 'failed' },
    },
    { name: 'failed by policy', replies: [saved('failed-policy')], expected: byPolicy },
    { name: 'canceled', replies: [saved('canceled')], expected: { kind: 'failed' } },
  ],
  refusals: [
    {
      name: 'exhausted credits',
      reply: saved('insufficient-credits'),
      expected: { kind: 'transient', errorClass: 'account' },
    },
    {
      name: 'an unknown model',
      reply: saved('unknown-model'),
      expected: { kind: 'transient', errorClass: 'unknown_model' },
    },
    {
      name: 'an unsupported parameter',
      reply: saved('unsupported'),
      expected: { kind: 'refused', code: 'upstream_failed', errorClass: 'rejected' },
    },
    {
      name: 'out of service',
      reply: saved('unavailable'),
      expected: { kind: 'transient', errorClass: 'provider_error' },
    },
    {
      name: 'a request with the same key that is still running',
      reply: saved('conflict'),
      expected: { kind: 'unknown', errorClass: 'interrupted' },
    },
  ],
});

describe('the Tollgate adapter on the wire', () => {
  let wire: Wire;
  beforeAll(async () => {
    wire = await openWire({ create: createTollgate, credential: 'sk-secret', submitted: saved('created') });
  });
  afterAll(() => wire.close());

  const first = { url: 'https://x.test/1' };
  const second = { url: 'https://x.test/2' };
  const third = { url: 'data:image/png;base64,AAAA' };

  it('has one path per type and the key of the attempt, and repeats the create to find a job', async () => {
    const { sent, body, attempt } = await wire.submit({
      model: 'veo-3.1',
      parameters: { duration: 8, prompt: 'another' },
    });
    expect(sent).toMatchObject({
      method: 'POST',
      path: '/api/v1/video/generate',
      headers: { authorization: 'Bearer sk-secret', 'idempotency-key': 'att_1' },
    });
    expect(body).toEqual({ model: 'veo-3.1', prompt: 'a fox', duration: 8 });
    const request = wire.request({ model: 'veo-3.1', parameters: { duration: 8 } });
    const found = await wire.adapter.findMedia?.(wire.upstream, request, wire.options());
    expect(found).toEqual(attempt);
    expect(wire.replies.received[1]?.path).toBe(sent.path);
    expect(JSON.parse(wire.replies.received[1]?.body ?? 'null')).toEqual(body);
    expect((await wire.submit({ type: 'image' })).sent.path).toBe('/api/v1/images/generate');
  });

  it('has the inputs under the names of our API', async () => {
    const inputs = { image: first, referenceImages: [second], videoUrl: third, audioUrl: first };
    expect((await wire.submit(inputs)).body).toMatchObject({
      image: first.url,
      reference_images: [second.url],
      video_url: third.url,
      audio_url: first.url,
    });
  });
});
