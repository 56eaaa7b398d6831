import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createMinimax } from '../../src/adapters/minimax.ts';
import { byPolicy, mediaAdapterSuite } from './media-adapter-suite.ts';
import { openWire, type Wire } from './open-wire.ts';
import { savedReplies } from './saved-replies.ts';

const saved = savedReplies('minimax');

mediaAdapterSuite({
  family: 'minimax',
  create: createMinimax,
  video: { model: 'MiniMax-H3', parameters: { duration: 5, resolution: '768P', ratio: '16:9' } },
  polledType: 'video',
  outputsMax: 1,
  supports: { find: false, cancel: true, probe: true },
  submit: saved('created'),
  pending: [saved('queued'), saved('running')],
  unusableSubmits: [{ task_id: '' }, { id: 'a' }],
  unusablePolls: ['succeeded', { task: null }, { task: { status: 7 } }, { task: { status: 'paused' } }],
  polls: [
    {
      name: 'succeeded',
      replies: [saved('succeeded')],
      expected: {
        kind: 'done',
        outputs: [{ url: expect.stringMatching(/^https:\/\/video-product/), mimeType: 'video/mp4', duration: 5 }],
      },
    },
    { name: 'succeeded without a clip', replies: [saved('succeeded-empty')], expected: { kind: 'failed' } },
    { name: 'an unknown task, as a 500', replies: [saved('record-not-found')], expected: { kind: 'missing' } },
    { name: 'failed at the provider', replies: [saved('failed')], expected: { kind: 'failed' } },
    { name: 'failed as sensitive', replies: [saved('failed-sensitive')], expected: byPolicy },
    {
      name: 'failed because of an input',
      replies: [saved('failed-parameter')],
      expected: { kind: 'refused', code: 'upstream_failed' },
    },
    { name: 'cancelled', replies: [saved('cancelled')], expected: { kind: 'failed' } },
    { name: 'expired', replies: [saved('expired')], expected: { kind: 'failed' } },
  ],
  refusals: [
    { name: 'a sensitive prompt', reply: saved('sensitive'), expected: byPolicy },
    { name: 'an empty account', reply: saved('no-balance'), expected: { kind: 'transient', errorClass: 'account' } },
    { name: 'an invalid key', reply: saved('unauthorized'), expected: { kind: 'transient', errorClass: 'account' } },
    { name: 'a used plan', reply: saved('plan-limit'), expected: { kind: 'transient', errorClass: 'account' } },
    {
      name: 'too many requests',
      reply: saved('rate-limit'),
      expected: { kind: 'transient', errorClass: 'rate_limit' },
    },
    {
      name: 'an invalid parameter',
      reply: saved('invalid'),
      expected: { kind: 'refused', code: 'upstream_failed', errorClass: 'rejected' },
    },
    {
      name: "a 500 with the provider's error",
      reply: saved('internal'),
      expected: { kind: 'transient', errorClass: 'provider_error' },
    },
    {
      name: 'a 500 with other JSON',
      reply: { status: 500, body: { message: 'Internal Server Error' } },
      expected: { kind: 'unknown', errorClass: 'unreadable' },
    },
  ],
});

describe('the MiniMax adapter on the wire', () => {
  let wire: Wire;
  beforeAll(async () => {
    wire = await openWire({ create: createMinimax, credential: 'mm-secret', submitted: saved('created') });
  });
  afterAll(() => wire.close());

  const first = { url: 'https://x.test/1' };
  const second = { url: 'data:image/png;base64,AAAA' };

  it('has the prompt and all inputs in one list, and a ratio only without a first frame', async () => {
    const parameters = { duration: 5, resolution: '768P', ratio: '16:9' };
    const referenced = await wire.submit({
      parameters,
      referenceImages: [second],
      videoUrl: first,
      audioUrl: first,
    });
    expect(referenced.sent).toMatchObject({
      method: 'POST',
      path: '/video_generation',
      headers: { authorization: 'Bearer mm-secret', 'idempotency-key': 'att_1' },
    });
    expect(referenced.body).toEqual({
      ...parameters,
      model: 'm',
      content: [
        { type: 'text', text: 'a fox' },
        { type: 'image_url', image_url: second, role: 'reference_image' },
        { type: 'video_url', video_url: first, role: 'reference_video' },
        { type: 'audio_url', audio_url: first, role: 'reference_audio' },
      ],
    });
    expect((await wire.submit({ parameters, image: first })).body).toEqual({
      model: 'm',
      duration: 5,
      resolution: '768P',
      content: [
        { type: 'text', text: 'a fox' },
        { type: 'image_url', image_url: first, role: 'first_frame' },
      ],
    });
  });

  it('deletes queued tasks only, and returns stopped if the answer says cancelled', async () => {
    const cancel = (...names: string[]) => {
      wire.replies.answer(...names.map((name) => saved(name)));
      return wire.adapter.cancelMedia?.(wire.upstream, { task_id: '1' }, { ...wire.options(), running: 'spare' });
    };
    expect(await cancel('queued', 'delete-cancelled')).toBe('stopped');
    expect(wire.replies.received.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'GET /query/video_generation/1',
      'DELETE /video_generation/1',
    ]);
    expect(await cancel('queued', 'deleted')).toBe('unclear');
    expect(await cancel('queued', 'invalid')).toBe('not_stopped');
    expect(await cancel('running')).toBe('not_stopped');
    expect(await cancel('succeeded')).toBe('not_stopped');
    expect(wire.replies.received.map(({ method }) => method)).toEqual(['GET']);
  });
});
