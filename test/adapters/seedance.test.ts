import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createSeedance } from '../../src/adapters/seedance.ts';
import { byPolicy, mediaAdapterSuite } from './media-adapter-suite.ts';
import { openWire, type Wire } from './open-wire.ts';
import { savedReplies } from './saved-replies.ts';

const saved = savedReplies('seedance');

mediaAdapterSuite({
  family: 'seedance',
  create: createSeedance,
  video: {
    model: 'dreamina-seedance-2-0-260128',
    parameters: { duration: 15, resolution: '720p', ratio: '16:9', generate_audio: true },
  },
  polledType: 'video',
  outputsMax: 1,
  supports: { find: false, cancel: true, probe: true },
  submit: saved('created'),
  pending: [saved('queued'), saved('running')],
  unusableSubmits: [{ id: '' }, { id: 'x'.repeat(600) }, { status: 'queued' }],
  unusablePolls: ['done', { id: 'a', status: 7 }, { id: 'a', status: 'paused' }, { id: 'a' }],
  polls: [
    {
      name: 'succeeded',
      replies: [saved('succeeded')],
      expected: {
        kind: 'done',
        outputs: [
          { url: expect.stringMatching(/^https:\/\/ark-content-generation/), mimeType: 'video/mp4', duration: 5 },
        ],
      },
    },
    { name: 'succeeded without a clip', replies: [saved('succeeded-empty')], expected: { kind: 'failed' } },
    { name: 'failed at the provider', replies: [saved('failed')], expected: { kind: 'failed' } },
    { name: 'failed as sensitive', replies: [saved('failed-sensitive')], expected: byPolicy },
    { name: 'failed as risky', replies: [saved('failed-risk')], expected: byPolicy },
    {
      name: 'failed because of an input',
      replies: [saved('failed-parameter')],
      expected: { kind: 'refused', code: 'upstream_failed' },
    },
    { name: 'cancelled', replies: [saved('cancelled')], expected: { kind: 'failed' } },
    { name: 'expired', replies: [saved('expired')], expected: { kind: 'failed' } },
  ],
  refusals: [
    { name: 'a picture of a person', reply: saved('sensitive'), expected: byPolicy },
    { name: 'an overdue account', reply: saved('overdue'), expected: { kind: 'transient', errorClass: 'account' } },
    { name: 'an exhausted quota', reply: saved('quota'), expected: { kind: 'transient', errorClass: 'account' } },
    { name: 'overloaded', reply: saved('overloaded'), expected: { kind: 'transient', errorClass: 'rate_limit' } },
    {
      name: 'a model without access',
      reply: saved('not-open'),
      expected: { kind: 'transient', errorClass: 'unknown_model' },
    },
    {
      name: 'a closed endpoint, as a 400',
      reply: saved('closed'),
      expected: { kind: 'transient', errorClass: 'unknown_model' },
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
      reply: { status: 500, body: { error: 'Internal Server Error' } },
      expected: { kind: 'unknown', errorClass: 'unreadable' },
    },
  ],
});

describe('the Seedance adapter on the wire', () => {
  let wire: Wire;
  beforeAll(async () => {
    wire = await openWire({ create: createSeedance, credential: 'ark-secret', submitted: saved('created') });
  });
  afterAll(() => wire.close());

  const first = { url: 'https://x.test/1' };
  const second = { url: 'https://x.test/2' };
  const third = { url: 'data:image/png;base64,AAAA' };

  it('has the prompt and all inputs in one list, with the parameters beside it', async () => {
    const { sent, body, attempt } = await wire.submit({
      model: 'seedance-1-0-pro-250528',
      parameters: { duration: 5, ratio: '16:9', content: [], model: 'dearer' },
      image: first,
      referenceImages: [third],
      videoUrl: second,
      audioUrl: second,
    });
    expect(sent).toMatchObject({
      method: 'POST',
      path: '/contents/generations/tasks',
      headers: { authorization: 'Bearer ark-secret' },
    });
    expect(body).toEqual({
      model: 'seedance-1-0-pro-250528',
      duration: 5,
      ratio: '16:9',
      content: [
        { type: 'text', text: 'a fox' },
        { type: 'image_url', image_url: { url: first.url }, role: 'first_frame' },
        { type: 'image_url', image_url: { url: third.url }, role: 'reference_image' },
        { type: 'video_url', video_url: { url: second.url }, role: 'reference_video' },
        { type: 'audio_url', audio_url: { url: second.url }, role: 'reference_audio' },
      ],
    });
    expect(attempt).toEqual({ kind: 'ok', value: { task_id: 'cgt-20261121160000-abcde' } });
  });

  it('deletes queued tasks only, and returns stopped if the task is cancelled afterwards', async () => {
    const cancel = (...names: string[]) => {
      wire.replies.answer(...names.map((name) => (name === '' ? { status: 200, body: {} } : saved(name))));
      return wire.adapter.cancelMedia?.(wire.upstream, { task_id: 'cgt-1' }, { ...wire.options(), running: 'spare' });
    };
    expect(await cancel('queued', '', 'cancelled')).toBe('stopped');
    expect(wire.replies.received.map(({ method }) => method)).toEqual(['GET', 'DELETE', 'GET']);
    expect(await cancel('running')).toBe('not_stopped');
    expect(await cancel('succeeded')).toBe('not_stopped');
    expect(wire.replies.received.map(({ method }) => method)).toEqual(['GET']);
    expect(await cancel('queued', '', 'running')).toBe('not_stopped');
    expect(await cancel('queued', 'invalid')).toBe('not_stopped');
  });
});
