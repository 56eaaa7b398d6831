import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createRunway } from '../../src/adapters/runway.ts';
import { byPolicy, mediaAdapterSuite } from './media-adapter-suite.ts';
import { openWire, type Wire } from './open-wire.ts';
import { savedReplies } from './saved-replies.ts';

const saved = savedReplies('runway');

mediaAdapterSuite({
  family: 'runway',
  create: createRunway,
  image: { model: 'gen4_image', parameters: { ratio: '1024:1024' }, width: 1_024, height: 1_024 },
  video: { model: 'gen4.5', parameters: { duration: 5, ratio: '1280:720' } },
  polledType: 'video',
  supports: { find: false, cancel: true, probe: true },
  submit: saved('created'),
  pending: [saved('pending'), saved('throttled'), saved('running')],
  unusableSubmits: [{ id: '' }, { task: 'a' }],
  unusablePolls: ['SUCCEEDED', { status: 7 }, { status: 'RESTING' }, { status: 'SUCCEEDED', output: 'x' }],
  polls: [
    {
      name: 'succeeded',
      replies: [saved('succeeded')],
      expected: { kind: 'done', outputs: [{ url: expect.stringMatching(/^https:\/\/dnznrvs05pmza/) }] },
    },
    { name: 'succeeded without outputs', replies: [saved('succeeded-empty')], expected: { kind: 'failed' } },
    { name: 'running', replies: [saved('running')], expected: { kind: 'pending', progress: 43 } },
    { name: 'failed at the provider', replies: [saved('failed')], expected: { kind: 'failed' } },
    { name: 'failed without a code', replies: [saved('failed-unnamed')], expected: { kind: 'failed' } },
    { name: 'failed by moderation of an input', replies: [saved('failed-input')], expected: byPolicy },
    { name: 'failed by moderation before the run', replies: [saved('failed-preprocessing')], expected: byPolicy },
    {
      name: 'failed because of an input',
      replies: [saved('failed-asset')],
      expected: { kind: 'refused', code: 'upstream_failed' },
    },
    { name: 'cancelled', replies: [saved('cancelled')], expected: { kind: 'failed' } },
  ],
  refusals: [
    {
      name: 'an empty account, as a 400',
      reply: saved('no-credits'),
      expected: { kind: 'transient', errorClass: 'account' },
    },
    {
      name: 'an invalid field',
      reply: saved('invalid'),
      expected: { kind: 'refused', code: 'upstream_failed', errorClass: 'rejected' },
    },
    { name: 'an invalid key', reply: saved('unauthorized'), expected: { kind: 'transient', errorClass: 'account' } },
    { name: 'a daily limit', reply: saved('daily-limit'), expected: { kind: 'transient', errorClass: 'rate_limit' } },
    { name: 'unavailable', reply: saved('unavailable'), expected: { kind: 'transient', errorClass: 'provider_error' } },
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

describe('the Runway adapter on the wire', () => {
  let wire: Wire;
  beforeAll(async () => {
    wire = await openWire({ create: createRunway, credential: 'key_secret', submitted: saved('created') });
  });
  afterAll(() => wire.close());

  const first = { url: 'https://x.test/1' };
  const second = { url: 'data:image/png;base64,AAAA' };

  it('has an endpoint for each kind of input', async () => {
    const sent = async (over: object) => {
      const { sent: request, body } = await wire.submit({ parameters: { duration: 5 }, ...over });
      return [request.path, body];
    };
    const common = { model: 'm', promptText: 'a fox', duration: 5 };
    expect(await sent({})).toEqual(['/text_to_video', common]);
    expect(wire.replies.received[0]?.headers).toMatchObject({
      authorization: 'Bearer key_secret',
      'x-runway-version': '2024-11-06',
      'idempotency-key': 'att_1',
    });
    expect(await sent({ referenceImages: [second] })).toEqual([
      '/text_to_video',
      { ...common, references: [{ uri: second.url }] },
    ]);
    expect(await sent({ image: first })).toEqual(['/image_to_video', { ...common, promptImage: first.url }]);
    expect(await sent({ videoUrl: first, referenceImages: [second] })).toEqual([
      '/video_to_video',
      { ...common, videoUri: first.url, keyframes: [{ uri: second.url, seconds: 0 }] },
    ]);
    expect(await sent({ type: 'image', image: first, referenceImages: [second] })).toEqual([
      '/text_to_image',
      { ...common, referenceImages: [{ uri: first.url }, { uri: second.url }] },
    ]);
  });

  it('stops a waiting task, and a running one only if its results are no longer needed', async () => {
    const cancel = (running: 'spare' | 'stop', ...names: string[]) => {
      wire.replies.answer(...names.map((name) => (name === '' ? { status: 204 } : saved(name))));
      return wire.adapter.cancelMedia?.(wire.upstream, { task_id: 'r-1' }, { ...wire.options(), running });
    };
    expect(await cancel('spare', 'pending', '', 'cancelled')).toBe('stopped');
    expect(wire.replies.received.map(({ method }) => method)).toEqual(['GET', 'DELETE', 'GET']);
    expect(await cancel('stop', 'running', '', 'cancelled')).toBe('stopped');
    expect(await cancel('spare', 'running')).toBe('not_stopped');
    // A task that ended meanwhile is deleted and can no longer be read.
    expect(await cancel('spare', 'throttled', '', 'invalid')).toBe('unclear');
    expect(await cancel('stop', 'succeeded')).toBe('not_stopped');
    expect(wire.replies.received.map(({ method }) => method)).toEqual(['GET']);
  });
});
