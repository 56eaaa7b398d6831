import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createKling } from '../../src/channels/kling.ts';
import { byPolicy, mediaAdapterSuite } from './media-adapter-suite.ts';
import { openWire, type Wire } from './open-wire.ts';
import { savedReplies } from './saved-replies.ts';

const saved = savedReplies('kling');

mediaAdapterSuite({
  family: 'kling',
  create: createKling,
  credential: { whole: 'access:test-secret', seen: 'Bearer eyJ' },
  image: { model: 'kling-v2-1', parameters: { aspect_ratio: '1:1' }, width: 1_024, height: 1_024 },
  video: { model: 'kling-v2-5-turbo/pro', parameters: { duration: '5', aspect_ratio: '16:9' } },
  jobs: 'video',
  supports: { find: true, cancel: false, probe: true },
  submit: saved('submitted'),
  pending: [saved('submitted'), saved('processing')],
  unusableSubmits: [
    { code: 0 },
    { code: 0, data: { task_id: 17, task_status: 'submitted' } },
    { code: 0, data: { task_id: '', task_status: 'submitted' } },
    { code: 0, data: { task_id: '../x', task_status: 'submitted' } },
    { code: 0, data: { task_status: 'submitted' } },
    { code: 5000, message: 'busy', data: { task_id: '1', task_status: 'submitted' } },
  ],
  unusableLooks: [
    'succeed',
    { code: 0, data: null },
    { code: 0, data: { task_id: '1', task_status: 7 } },
    { code: 0, data: { task_id: '1', task_status: 'succeeded' } },
  ],
  looks: [
    {
      name: 'a clip',
      replies: [saved('succeed-video')],
      comesTo: {
        kind: 'done',
        outputs: [{ url: expect.stringMatching(/out\.mp4$/), mimeType: 'video/mp4', duration: 5.1 }],
      },
    },
    {
      name: 'pictures',
      replies: [saved('succeed-images')],
      comesTo: { kind: 'done', outputs: [{ url: expect.stringMatching(/0\.png$/) }, { url: expect.anything() }] },
    },
    { name: 'succeeded without outputs', replies: [saved('succeed-empty')], comesTo: byPolicy },
    { name: 'failed', replies: [saved('failed')], comesTo: { kind: 'failed' } },
    { name: 'failed at the risk control', replies: [saved('failed-risk')], comesTo: byPolicy },
  ],
  refusals: [
    { name: 'the content policy', reply: saved('content'), comesTo: byPolicy },
    {
      name: 'our account is in arrears',
      reply: saved('arrears'),
      comesTo: { kind: 'transient', errorClass: 'account' },
    },
    { name: 'no packs left', reply: saved('resource-pack'), comesTo: { kind: 'transient', errorClass: 'account' } },
    { name: 'too many at once', reply: saved('parallel'), comesTo: { kind: 'transient', errorClass: 'rate_limit' } },
    {
      name: 'a clock that is wrong',
      reply: saved('not-yet-valid'),
      comesTo: { kind: 'transient', errorClass: 'account' },
    },
    { name: 'an unknown model', reply: saved('no-model'), comesTo: { kind: 'transient', errorClass: 'unknown_model' } },
    { name: 'invalid', reply: saved('invalid'), comesTo: { kind: 'refused', code: 'upstream_failed' } },
    {
      name: 'an own error with 500',
      reply: saved('internal'),
      comesTo: { kind: 'transient', errorClass: 'provider_error' },
    },
    { name: 'a backlog', reply: saved('backlog'), comesTo: { kind: 'transient', errorClass: 'provider_error' } },
    {
      name: "somebody else's JSON with 500",
      reply: { status: 500, body: { code: 'INTERNAL', message: 'x' } },
      comesTo: { kind: 'unknown', errorClass: 'unreadable' },
    },
  ],
});

describe('what Kling is sent', () => {
  let wire: Wire;
  beforeAll(async () => {
    wire = await openWire({ create: createKling, credential: 'access:secret', submitted: saved('submitted') });
  });
  afterAll(() => wire.close());

  const first = { url: 'https://x.test/1' };
  const inline = { url: 'data:image/png;base64,AAAA' };

  it('is shown a token of our keys that lives half an hour, and never the secret', async () => {
    const { asked } = await wire.submit({});
    const [header = '', claims = '', signature] = (asked.headers.authorization ?? '').replace('Bearer ', '').split('.');
    const read = (part: string): unknown => JSON.parse(Buffer.from(part, 'base64url').toString());
    const now = Date.now() / 1_000;
    expect(read(header)).toEqual({ alg: 'HS256', typ: 'JWT' });
    const { iss, exp, nbf } = read(claims) as { iss: string; exp: number; nbf: number };
    expect([iss, exp > now + 1_700 && exp <= now + 1_800, nbf < now]).toEqual(['access', true, true]);
    expect(signature).toBe(createHmac('sha256', 'secret').update(`${header}.${claims}`).digest('base64url'));
    expect(JSON.stringify(asked)).not.toContain('secret');
  });

  it('is asked for a clip from text or from a picture, in the mode that the model name tells', async () => {
    const text = await wire.submit({
      model: 'kling-v2-5-turbo/pro',
      parameters: { duration: '5', aspect_ratio: '9:16' },
    });
    expect(text.asked.path).toBe('/videos/text2video');
    expect(text.body).toEqual({
      model_name: 'kling-v2-5-turbo',
      mode: 'pro',
      prompt: 'a fox',
      duration: '5',
      aspect_ratio: '9:16',
      external_task_id: 'att_1',
    });
    expect(text.attempt).toEqual({ kind: 'ok', value: { path: '/videos/text2video', task_id: '867283741759111202' } });
    // A clip has the shape of its first frame; base64 goes without its prefix.
    const framed = await wire.submit({
      model: 'kling-v2-5-turbo',
      parameters: { aspect_ratio: '9:16' },
      image: inline,
    });
    expect(framed.asked.path).toBe('/videos/image2video');
    expect(framed.body).toEqual({
      model_name: 'kling-v2-5-turbo',
      prompt: 'a fox',
      image: 'AAAA',
      external_task_id: 'att_1',
    });
    const picture = await wire.submit({ type: 'image', model: 'kling-v2-1', image: first });
    expect(picture.asked.path).toBe('/images/generations');
    expect(picture.body).toMatchObject({ image: 'https://x.test/1' });
  });

  it('is asked by our key for what was lost, and "not there" so early is not taken for a no', async () => {
    const find = (reply: string) => {
      wire.replies.answer(saved(reply));
      return wire.adapter.findMedia?.(wire.upstream, wire.request({}), wire.options());
    };
    expect(await find('processing')).toMatchObject({ kind: 'ok', value: { task_id: '867283741759111202' } });
    expect(wire.replies.asked[0]).toMatchObject({ method: 'GET', path: '/videos/text2video/att_1' });
    expect((await find('no-model'))?.kind).not.toBe('ok');
  });
});
