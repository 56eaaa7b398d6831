import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createReplicate } from '../../src/adapters/replicate.ts';
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
  // The create call waits for an image, but not for a clip.
  polledType: 'video',
  supports: { find: false, cancel: true, probe: true },
  submit: saved('starting'),
  pending: [saved('starting'), saved('processing')],
  unusableSubmits: [
    { id: '', status: 'starting' },
    { id: 'x'.repeat(600), status: 'starting' },
    { status: 'starting' },
  ],
  unusablePolls: ['done', { id: 'abc', status: 7 }, { id: 'abc', status: 'SUCCEEDED', output: 7 }, { id: 'abc' }],
  polls: [
    {
      name: 'one URL',
      replies: [saved('succeeded')],
      expected: { kind: 'done', outputs: [{ url: 'https://replicate.delivery/xezq/one.webp' }] },
    },
    {
      name: 'a list of URLs',
      replies: [saved('succeeded-in-time')],
      expected: {
        kind: 'done',
        outputs: [
          { url: 'https://replicate.delivery/xezq/one.png' },
          { url: 'https://replicate.delivery/xezq/two.png' },
        ],
      },
    },
    {
      name: 'an object that contains a URL',
      replies: [saved('succeeded-object')],
      expected: { kind: 'done', outputs: [{ url: 'https://replicate.delivery/xezq/out.mp4' }] },
    },
    { name: 'succeeded with text', replies: [saved('succeeded-text')], expected: { kind: 'unclear' } },
    { name: 'succeeded, its data removed', replies: [saved('succeeded-removed')], expected: { kind: 'failed' } },
    { name: 'failed', replies: [saved('failed')], expected: { kind: 'failed' } },
    { name: 'failed with NSFW content', replies: [saved('failed-nsfw')], expected: byPolicy },
    { name: 'failed as flagged', replies: [saved('failed-flagged')], expected: byPolicy },
    { name: 'canceled', replies: [saved('canceled')], expected: { kind: 'failed' } },
    { name: 'aborted', replies: [saved('aborted')], expected: { kind: 'failed' } },
    { name: 'not there yet', replies: [saved('not-found')], expected: { kind: 'missing' } },
  ],
  refusals: [
    {
      name: 'an input that the model does not have',
      reply: saved('invalid'),
      expected: { kind: 'refused', code: 'upstream_failed', errorClass: 'rejected' },
    },
    { name: 'no credit', reply: saved('no-credit'), expected: { kind: 'transient', errorClass: 'account' } },
    { name: 'throttled', reply: saved('throttled'), expected: { kind: 'transient', errorClass: 'rate_limit' } },
    {
      name: 'an unknown model',
      reply: saved('not-found'),
      expected: { kind: 'transient', errorClass: 'unknown_model' },
    },
    {
      name: "a 500 with the provider's error",
      reply: { status: 500, body: { detail: 'secret-marker', status: 500 } },
      expected: { kind: 'transient', errorClass: 'provider_error' },
    },
    {
      name: 'a 500 with other JSON',
      reply: { status: 500, body: { message: 'Internal Server Error' } },
      expected: { kind: 'unknown', errorClass: 'unreadable' },
    },
  ],
});

describe('the Replicate adapter on the wire', () => {
  let wire: Wire;
  beforeAll(async () => {
    wire = await openWire({ create: createReplicate, credential: 'r8_secret', submitted: saved('starting') });
  });
  afterAll(() => wire.close());

  const first = { url: 'https://x.test/1' };
  const second = { url: 'https://x.test/2' };
  const third = { url: 'data:image/png;base64,AAAA' };

  it('has one path for an official model and another for a version', async () => {
    const { sent, body, attempt } = await wire.submit({
      model: 'google/veo-3.1',
      parameters: { prompt: 'another', seed: 1 },
    });
    expect(sent).toMatchObject({
      path: '/models/google/veo-3.1/predictions',
      headers: { authorization: 'Bearer r8_secret', 'idempotency-key': 'att_1' },
    });
    expect(body).toEqual({ input: { prompt: 'a fox', seed: 1 } });
    expect(attempt).toEqual({ kind: 'ok', value: { prediction_id: 'gm3qorzdhgbfurvjtvhg6dckhu' } });
    const version = await wire.submit({ model: 'someone/theirs:0123abcd' });
    expect(version.sent.path).toBe('/predictions');
    expect(version.body).toEqual({ version: 'someone/theirs:0123abcd', input: { prompt: 'a fox' } });
  });

  it('waits for images only, and returns a timely result with its reference', async () => {
    expect((await wire.submit({})).sent.headers.prefer).toBeUndefined();
    expect((await wire.submit({ type: 'image' })).sent.headers.prefer).toBe('wait=5');
    const { attempt } = await wire.submit({ type: 'image', model: 'a/b' }, saved('succeeded-in-time'));
    expect(attempt).toMatchObject({
      kind: 'done',
      outputs: [{ url: 'https://replicate.delivery/xezq/one.png' }, {}],
      providerRef: { prediction_id: 'gm3qorzdhgbfurvjtvhg6dckhu' },
    });
  });

  it('uses the names that the model has for its inputs', async () => {
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
  const calls = () => wire.replies.received.map(({ method, path }) => `${method} ${path}`);
  const status = 'GET /predictions/abc';
  const stop = 'POST /predictions/abc/cancel';

  it('polls the status before a cancel with spare, and cancels jobs that have not started', async () => {
    for (const name of ['processing', 'succeeded', 'failed', 'not-found', 'in trouble']) {
      expect([name, await cancel('spare', name)]).toEqual([name, 'not_stopped']);
      expect(calls()).toEqual([status]);
    }
    expect(await cancel('spare', 'starting', 'canceled')).toBe('stopped');
    expect(calls()).toEqual([status, stop]);
    // A repeated cancel.
    expect(await cancel('spare', 'canceled')).toBe('stopped');
    expect(calls()).toEqual([status]);
    expect(await cancel('spare', 'starting', 'succeeded')).toBe('not_stopped');
    for (const name of ['in trouble', 'starting', 'processing']) {
      expect([name, await cancel('spare', 'starting', name)]).toEqual([name, 'unclear']);
    }
  });

  it('cancels immediately with stop, whether the job runs or not', async () => {
    expect(await cancel('stop', 'canceled')).toBe('stopped');
    expect(calls()).toEqual([stop]);
    expect(await cancel('stop', 'succeeded')).toBe('not_stopped');
    expect(await cancel('stop', 'not-found')).toBe('not_stopped');
    expect(await cancel('stop', 'in trouble')).toBe('unclear');
  });
});
