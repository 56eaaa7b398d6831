import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createUpstreamCaller, type UpstreamCaller } from '../../src/channels/call-upstream.ts';
import type { MediaRequest } from '../../src/channels/channel.ts';
import { createReplicate } from '../../src/channels/replicate.ts';
import { mediaAdapterSuite } from './media-adapter-suite.ts';
import { createReplyServer, type CannedReply, type ReplyServer } from './reply-server.ts';

const saved = (name: string) =>
  JSON.parse(readFileSync(new URL(`./fixtures/replicate/${name}.json`, import.meta.url), 'utf8')) as CannedReply;
const byPolicy = { kind: 'refused', code: 'content_policy_violation' } as const;

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
  secret: 'secret-marker',
  unusableSubmits: [
    {},
    [],
    'ok',
    null,
    { id: 17, status: 'starting' },
    { id: '', status: 'starting' },
    { id: '../account', status: 'starting' },
    { id: 'x'.repeat(600), status: 'starting' },
    { status: 'starting' },
    { id: 'abc', status: 'resting' },
  ],
  unusableLooks: [{}, [], null, 'done', { id: 'abc', status: 7 }, { id: 'abc', status: 'SUCCEEDED' }, { id: 'abc' }],
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
  let replies: ReplyServer;
  let caller: UpstreamCaller;
  beforeAll(async () => {
    replies = await createReplyServer();
    caller = createUpstreamCaller();
  });
  afterAll(async () => {
    await caller.close();
    await replies.close();
  });

  const upstream = () => ({ channelId: 'c', baseUrl: replies.url, credential: 'r8_secret' });
  const options = () => ({ signal: AbortSignal.timeout(5_000) });
  const sent = async (request: Partial<MediaRequest>) => {
    replies.answer(saved('starting'));
    const attempt = await createReplicate(caller).submitMedia?.(
      upstream(),
      { type: 'video', model: 'm', prompt: 'a fox', parameters: {}, idempotencyKey: 'att_1', ...request },
      options(),
    );
    const [asked] = replies.asked;
    const body: unknown = JSON.parse(asked?.body ?? 'null');
    return { attempt, asked, body };
  };
  const first = { url: 'https://x.test/1' };
  const second = { url: 'https://x.test/2' };
  const third = { url: 'data:image/png;base64,AAAA' };

  it('runs a model under its name, and a version under its own', async () => {
    const { asked, body, attempt } = await sent({
      model: 'google/veo-3.1',
      parameters: { prompt: 'another', seed: 1 },
    });
    expect(asked).toMatchObject({
      path: '/models/google/veo-3.1/predictions',
      headers: { authorization: 'Bearer r8_secret', 'idempotency-key': 'att_1' },
    });
    expect(body).toEqual({ input: { prompt: 'a fox', seed: 1 } });
    expect(attempt).toEqual({ kind: 'ok', value: { prediction_id: 'gm3qorzdhgbfurvjtvhg6dckhu' } });
    const version = await sent({ model: 'someone/theirs:0123abcd' });
    expect(version.asked?.path).toBe('/predictions');
    expect(version.body).toEqual({ version: 'someone/theirs:0123abcd', input: { prompt: 'a fox' } });
  });

  it('waits for a picture only, and takes what is there in time with its reference', async () => {
    expect((await sent({})).asked?.headers.prefer).toBeUndefined();
    expect((await sent({ type: 'image' })).asked?.headers.prefer).toBe('wait=5');
    replies.answer(saved('succeeded-in-time'));
    const attempt = await createReplicate(caller).submitMedia?.(
      upstream(),
      { type: 'image', model: 'a/b', prompt: 'x', parameters: {}, idempotencyKey: 'att_1' },
      options(),
    );
    expect(attempt).toMatchObject({
      kind: 'done',
      outputs: [{ url: 'https://replicate.delivery/xezq/one.png' }, {}],
      operation: { prediction_id: 'gm3qorzdhgbfurvjtvhg6dckhu' },
    });
  });

  it('puts inputs under the names that the model has for them', async () => {
    const inputs = { model: 'a/b', image: first, referenceImages: [second], videoUrl: third, audioUrl: first };
    expect((await sent(inputs)).body).toEqual({
      input: { prompt: 'a fox', image: first.url, reference_images: [second.url], video: third.url, audio: first.url },
    });
    expect((await sent({ ...inputs, inputNames: { image: 'start_image', audio_url: 'sound' } })).body).toMatchObject({
      input: { start_image: first.url, sound: first.url },
    });
    const oneList = { image: 'image_input', reference_images: 'image_input' };
    expect((await sent({ model: 'a/b', image: first, referenceImages: [second], inputNames: oneList })).body).toEqual({
      input: { prompt: 'a fox', image_input: [first.url, second.url] },
    });
  });

  it('is believed to have stopped a job only when that never ran', async () => {
    const cancel = (reply: string) => {
      replies.answer(saved(reply));
      return createReplicate(caller).cancelMedia?.(upstream(), { prediction_id: 'abc' }, options());
    };
    expect(await cancel('aborted')).toBe('stopped');
    expect(await cancel('canceled')).toBe('not_stopped');
    expect(await cancel('succeeded')).toBe('not_stopped');
    expect(replies.asked[0]).toMatchObject({ method: 'POST', path: '/predictions/abc/cancel' });
  });
});
