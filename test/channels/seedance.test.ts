import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createSeedance } from '../../src/channels/seedance.ts';
import { byPolicy, mediaAdapterSuite } from './media-adapter-suite.ts';
import { openWire, type Wire } from './open-wire.ts';
import { savedReplies } from './saved-replies.ts';

const saved = savedReplies('seedance');

mediaAdapterSuite({
  family: 'seedance',
  create: createSeedance,
  video: { model: 'seedance-1-0-pro-250528', parameters: { duration: 5, resolution: '720p', ratio: '16:9' } },
  jobs: 'video',
  outputsMax: 1,
  supports: { find: false, cancel: true, probe: true },
  submit: saved('created'),
  pending: [saved('queued'), saved('running')],
  unusableSubmits: [{ id: 17 }, { id: '' }, { id: '../models' }, { id: 'x'.repeat(600) }, { status: 'queued' }],
  unusableLooks: ['done', { id: 'a', status: 7 }, { id: 'a', status: 'paused' }, { id: 'a' }],
  looks: [
    {
      name: 'succeeded',
      replies: [saved('succeeded')],
      comesTo: {
        kind: 'done',
        outputs: [
          { url: expect.stringMatching(/^https:\/\/ark-content-generation/), mimeType: 'video/mp4', duration: 5 },
        ],
      },
    },
    { name: 'succeeded without a clip', replies: [saved('succeeded-empty')], comesTo: byPolicy },
    { name: 'failed on their side', replies: [saved('failed')], comesTo: { kind: 'failed' } },
    { name: 'failed as sensitive', replies: [saved('failed-sensitive')], comesTo: byPolicy },
    { name: 'failed as risky', replies: [saved('failed-risk')], comesTo: byPolicy },
    {
      name: 'failed on an input',
      replies: [saved('failed-parameter')],
      comesTo: { kind: 'refused', code: 'upstream_failed' },
    },
    { name: 'cancelled', replies: [saved('cancelled')], comesTo: { kind: 'failed' } },
    { name: 'expired', replies: [saved('expired')], comesTo: { kind: 'failed' } },
  ],
  refusals: [
    { name: 'a picture of a person', reply: saved('sensitive'), comesTo: byPolicy },
    { name: 'our account is overdue', reply: saved('overdue'), comesTo: { kind: 'transient', errorClass: 'account' } },
    { name: 'our limit is reached', reply: saved('quota'), comesTo: { kind: 'transient', errorClass: 'account' } },
    { name: 'overloaded', reply: saved('overloaded'), comesTo: { kind: 'transient', errorClass: 'rate_limit' } },
    {
      name: 'a model that is not open to us',
      reply: saved('not-open'),
      comesTo: { kind: 'transient', errorClass: 'unknown_model' },
    },
    {
      name: 'a closed endpoint, which is a 400 there',
      reply: saved('closed'),
      comesTo: { kind: 'transient', errorClass: 'unknown_model' },
    },
    {
      name: 'an invalid parameter',
      reply: saved('invalid'),
      comesTo: { kind: 'refused', code: 'upstream_failed', errorClass: 'rejected' },
    },
    {
      name: 'an own error with 500',
      reply: saved('internal'),
      comesTo: { kind: 'transient', errorClass: 'provider_error' },
    },
    {
      name: "somebody else's JSON with 500",
      reply: { status: 500, body: { error: 'Internal Server Error' } },
      comesTo: { kind: 'unknown', errorClass: 'unreadable' },
    },
  ],
});

describe('what Seedance is sent', () => {
  let wire: Wire;
  beforeAll(async () => {
    wire = await openWire({ create: createSeedance, credential: 'ark-secret', submitted: saved('created') });
  });
  afterAll(() => wire.close());

  const first = { url: 'https://x.test/1' };
  const second = { url: 'https://x.test/2' };
  const third = { url: 'data:image/png;base64,AAAA' };

  it('is given the prompt and every input as one list, parameters beside it', async () => {
    const { asked, body, attempt } = await wire.submit({
      model: 'seedance-1-0-pro-250528',
      parameters: { duration: 5, ratio: '16:9', content: [], model: 'dearer' },
      image: first,
      referenceImages: [third],
      videoUrl: second,
      audioUrl: second,
    });
    expect(asked).toMatchObject({
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

  it('is told to delete a queued task only, and believed when that is cancelled afterwards', async () => {
    const cancel = (...names: string[]) => {
      wire.replies.answer(...names.map((name) => (name === '' ? { status: 200, body: {} } : saved(name))));
      return wire.adapter.cancelMedia?.(wire.upstream, { task_id: 'cgt-1' }, { ...wire.options(), running: 'spare' });
    };
    expect(await cancel('queued', '', 'cancelled')).toBe('stopped');
    expect(wire.replies.asked.map(({ method }) => method)).toEqual(['GET', 'DELETE', 'GET']);
    expect(await cancel('running')).toBe('not_stopped');
    expect(await cancel('succeeded')).toBe('not_stopped');
    expect(wire.replies.asked.map(({ method }) => method)).toEqual(['GET']);
    expect(await cancel('queued', '', 'running')).toBe('not_stopped');
    expect(await cancel('queued', 'invalid')).toBe('not_stopped');
  });
});
