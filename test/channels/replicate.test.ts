import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createReplicate } from '../../src/channels/replicate.ts';
import { byPolicy, mediaAdapterSuite } from './media-adapter-suite.ts';
import { openWire, type Wire } from './open-wire.ts';
import { savedReplies } from './saved-replies.ts';

const saved = savedReplies('replicate');

mediaAdapterSuite({
  family: 'replicate',
  create: createReplicate,
  image: {
    model: 'black-forest-labs/flux-1.1-pro',
    parameters: { aspect_ratio: '1:1' },
    width: 1_024,
    height: 1_024,
  },
  video: { model: 'google/veo-3.1', parameters: { duration: 8, resolution: '720p' } },
  // A picture is waited for in the create call, a clip is not.
  jobs: 'video',
  supports: { find: false, cancel: true, probe: true },
  submit: saved('starting'),
  pending: [saved('starting'), saved('processing')],
  unusableSubmits: [
    { id: 17, status: 'starting' },
    { id: '', status: 'starting' },
    { id: '../account', status: 'starting' },
    { id: 'x'.repeat(600), status: 'starting' },
    { status: 'starting' },
    { id: 'abc', status: 'resting' },
  ],
  unusableLooks: ['done', { id: 'abc', status: 7 }, { id: 'abc', status: 'SUCCEEDED' }, { id: 'abc' }],
  looks: [
    {
      name: 'one address',
      replies: [saved('succeeded')],
      comesTo: { kind: 'done', outputs: [{ url: 'https://replicate.delivery/xezq/one.webp' }] },
    },
    {
      name: 'a list of addresses',
      replies: [saved('succeeded-in-time')],
      comesTo: {
        kind: 'done',
        outputs: [
          { url: 'https://replicate.delivery/xezq/one.png' },
          { url: 'https://replicate.delivery/xezq/two.png' },
        ],
      },
    },
    {
      name: 'an object that holds an address',
      replies: [saved('succeeded-object')],
      comesTo: { kind: 'done', outputs: [{ url: 'https://replicate.delivery/xezq/out.mp4' }] },
    },
    { name: 'succeeded with text', replies: [saved('succeeded-text')], comesTo: byPolicy },
    { name: 'succeeded, its data removed', replies: [saved('succeeded-removed')], comesTo: byPolicy },
    { name: 'failed', replies: [saved('failed')], comesTo: { kind: 'failed' } },
    { name: 'failed as not safe', replies: [saved('failed-nsfw')], comesTo: byPolicy },
    { name: 'failed as flagged', replies: [saved('failed-flagged')], comesTo: byPolicy },
    { name: 'canceled', replies: [saved('canceled')], comesTo: { kind: 'failed' } },
    { name: 'aborted', replies: [saved('aborted')], comesTo: { kind: 'failed' } },
    { name: 'not there yet', replies: [saved('not-found')], comesTo: { kind: 'missing' } },
  ],
  refusals: [
    {
      name: 'an input that the model does not know',
      reply: saved('invalid'),
      comesTo: { kind: 'refused', code: 'upstream_failed', errorClass: 'rejected' },
    },
    { name: 'no credit', reply: saved('no-credit'), comesTo: { kind: 'transient', errorClass: 'account' } },
    { name: 'throttled', reply: saved('throttled'), comesTo: { kind: 'transient', errorClass: 'rate_limit' } },
    {
      name: 'an unknown model',
      reply: saved('not-found'),
      comesTo: { kind: 'transient', errorClass: 'unknown_model' },
    },
    {
      name: 'an own error with 500',
      reply: { status: 500, body: { detail: 'secret-marker', status: 500 } },
      comesTo: { kind: 'transient', errorClass: 'provider_error' },
    },
    {
      name: "somebody else's JSON with 500",
      reply: { status: 500, body: { message: 'Internal Server Error' } },
      comesTo: { kind: 'unknown', errorClass: 'unreadable' },
    },
  ],
});

describe('what Replicate is sent', () => {
  let wire: Wire;
  beforeAll(async () => {
    wire = await openWire({ create: createReplicate, credential: 'r8_secret', submitted: saved('starting') });
  });
  afterAll(() => wire.close());

  const first = { url: 'https://x.test/1' };
  const second = { url: 'https://x.test/2' };
  const third = { url: 'data:image/png;base64,AAAA' };

  it('runs a model under its name, and a version under its own', async () => {
    const { asked, body, attempt } = await wire.submit({
      model: 'google/veo-3.1',
      parameters: { prompt: 'another', seed: 1 },
    });
    expect(asked).toMatchObject({
      path: '/models/google/veo-3.1/predictions',
      headers: { authorization: 'Bearer r8_secret', 'idempotency-key': 'att_1' },
    });
    expect(body).toEqual({ input: { prompt: 'a fox', seed: 1 } });
    expect(attempt).toEqual({ kind: 'ok', value: { prediction_id: 'gm3qorzdhgbfurvjtvhg6dckhu' } });
    const version = await wire.submit({ model: 'someone/theirs:0123abcd' });
    expect(version.asked.path).toBe('/predictions');
    expect(version.body).toEqual({ version: 'someone/theirs:0123abcd', input: { prompt: 'a fox' } });
  });

  it('waits for a picture only, and takes what is there in time with its reference', async () => {
    expect((await wire.submit({})).asked.headers.prefer).toBeUndefined();
    expect((await wire.submit({ type: 'image' })).asked.headers.prefer).toBe('wait=5');
    const { attempt } = await wire.submit({ type: 'image', model: 'a/b' }, saved('succeeded-in-time'));
    expect(attempt).toMatchObject({
      kind: 'done',
      outputs: [{ url: 'https://replicate.delivery/xezq/one.png' }, {}],
      operation: { prediction_id: 'gm3qorzdhgbfurvjtvhg6dckhu' },
    });
  });

  it('puts inputs under the names that the model has for them', async () => {
    const inputs = { model: 'a/b', image: first, referenceImages: [second], videoUrl: third, audioUrl: first };
    expect((await wire.submit(inputs)).body).toEqual({
      input: { prompt: 'a fox', image: first.url, reference_images: [second.url], video: third.url, audio: first.url },
    });
    const renamed = await wire.submit({ ...inputs, inputNames: { image: 'start_image', audio_url: 'sound' } });
    expect(renamed.body).toMatchObject({ input: { start_image: first.url, sound: first.url } });
    const inputNames = { image: 'image_input', reference_images: 'image_input' };
    const oneList = await wire.submit({ model: 'a/b', image: first, referenceImages: [second], inputNames });
    expect(oneList.body).toEqual({ input: { prompt: 'a fox', image_input: [first.url, second.url] } });
  });

  const cancel = (running: 'spare' | 'stop', ...names: string[]) => {
    wire.replies.answer(
      ...names.map((name) => (name === 'in trouble' ? { status: 502, text: 'bad gateway' } : saved(name))),
    );
    return wire.adapter.cancelMedia?.(wire.upstream, { prediction_id: 'abc' }, { ...wire.options(), running });
  };
  const asked = () => wire.replies.asked.map(({ method, path }) => `${method} ${path}`);
  const look = 'GET /predictions/abc';
  const stop = 'POST /predictions/abc/cancel';

  it('is asked first where a job that runs is to be spared, and sent the stop of one that has not begun', async () => {
    for (const name of ['processing', 'succeeded', 'failed', 'not-found', 'in trouble']) {
      expect([name, await cancel('spare', name)]).toEqual([name, 'not_stopped']);
      expect(asked()).toEqual([look]);
    }
    expect(await cancel('spare', 'starting', 'canceled')).toBe('stopped');
    expect(asked()).toEqual([look, stop]);
    // A stop of before.
    expect(await cancel('spare', 'canceled')).toBe('stopped');
    expect(asked()).toEqual([look]);
    expect(await cancel('spare', 'starting', 'succeeded')).toBe('not_stopped');
    for (const name of ['in trouble', 'starting', 'processing']) {
      expect([name, await cancel('spare', 'starting', name)]).toEqual([name, 'unclear']);
    }
  });

  it('is sent the stop at once of what nobody wants any more, running or not', async () => {
    expect(await cancel('stop', 'canceled')).toBe('stopped');
    expect(asked()).toEqual([stop]);
    expect(await cancel('stop', 'succeeded')).toBe('not_stopped');
    expect(await cancel('stop', 'not-found')).toBe('not_stopped');
    expect(await cancel('stop', 'in trouble')).toBe('unclear');
  });
});
