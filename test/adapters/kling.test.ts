import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createKling } from '../../src/adapters/kling.ts';
import { byPolicy, mediaAdapterSuite } from './media-adapter-suite.ts';
import { openWire, type Wire } from './open-wire.ts';
import { savedReplies } from './saved-replies.ts';

const saved = savedReplies('kling');

mediaAdapterSuite({
  family: 'kling',
  create: createKling,
  credential: { whole: 'access:test-secret', seen: 'Bearer eyJ' },
  image: { model: 'kling-v2-1', parameters: { aspect_ratio: '1:1' }, width: 1_024, height: 1_024 },
  video: { model: 'kling-v3/pro', parameters: { duration: '12', sound: 'on', aspect_ratio: '16:9' } },
  polledType: 'video',
  supports: { find: true, cancel: false, probe: true },
  submit: saved('submitted'),
  pending: [saved('submitted'), saved('processing')],
  unusableSubmits: [
    { code: 0 },
    { code: 0, data: { task_id: '', task_status: 'submitted' } },
    { code: 0, data: { task_status: 'submitted' } },
  ],
  unusablePolls: [
    'succeed',
    { code: 0, data: null },
    { code: 0, data: { task_id: '1', task_status: 7 } },
    { code: 0, data: { task_id: '1', task_status: 'resting' } },
    { code: 0, data: { task_id: '1', task_status: 'succeed', task_result: 'x' } },
  ],
  polls: [
    {
      name: 'a clip',
      replies: [saved('succeed-video')],
      expected: {
        kind: 'done',
        outputs: [{ url: expect.stringMatching(/out\.mp4$/), mimeType: 'video/mp4', duration: 5.1 }],
      },
    },
    {
      name: 'pictures',
      replies: [saved('succeed-images')],
      expected: { kind: 'done', outputs: [{ url: expect.stringMatching(/0\.png$/) }, { url: expect.anything() }] },
    },
    { name: 'succeeded without outputs', replies: [saved('succeed-empty')], expected: { kind: 'failed' } },
    { name: 'failed', replies: [saved('failed')], expected: { kind: 'failed' } },
    { name: 'failed by risk control', replies: [saved('failed-risk')], expected: byPolicy },
  ],
  refusals: [
    { name: 'the content policy', reply: saved('content'), expected: byPolicy },
    {
      name: 'an account in arrears',
      reply: saved('arrears'),
      expected: { kind: 'transient', errorClass: 'account' },
    },
    {
      name: 'no resource packs left',
      reply: saved('resource-pack'),
      expected: { kind: 'transient', errorClass: 'account' },
    },
    {
      name: 'too many parallel jobs',
      reply: saved('parallel'),
      expected: { kind: 'transient', errorClass: 'rate_limit' },
    },
    {
      name: 'a token that is not valid yet',
      reply: saved('not-yet-valid'),
      expected: { kind: 'transient', errorClass: 'account' },
    },
    {
      name: 'an unknown model',
      reply: saved('no-model'),
      expected: { kind: 'transient', errorClass: 'unknown_model' },
    },
    { name: 'invalid', reply: saved('invalid'), expected: { kind: 'refused', code: 'upstream_failed' } },
    {
      name: "a 500 with the provider's error",
      reply: saved('internal'),
      expected: { kind: 'transient', errorClass: 'provider_error' },
    },
    { name: 'a backlog', reply: saved('backlog'), expected: { kind: 'transient', errorClass: 'provider_error' } },
    {
      name: 'a 500 with other JSON',
      reply: { status: 500, body: { code: 'INTERNAL', message: 'x' } },
      expected: { kind: 'unknown', errorClass: 'unreadable' },
    },
  ],
});

describe('the Kling adapter on the wire', () => {
  let wire: Wire;
  beforeAll(async () => {
    wire = await openWire({ create: createKling, credential: 'access:secret', submitted: saved('submitted') });
  });
  afterAll(() => wire.close());

  const first = { url: 'https://x.test/1' };
  const inline = { url: 'data:image/png;base64,AAAA' };

  it('has a signed token that is valid for half an hour, and never the secret', async () => {
    const { sent } = await wire.submit({});
    const [header = '', claims = '', signature] = (sent.headers.authorization ?? '').replace('Bearer ', '').split('.');
    const read = (part: string): unknown => JSON.parse(Buffer.from(part, 'base64url').toString());
    const now = Date.now() / 1_000;
    expect(read(header)).toEqual({ alg: 'HS256', typ: 'JWT' });
    const { iss, exp, nbf } = read(claims) as { iss: string; exp: number; nbf: number };
    expect([iss, exp > now + 1_700 && exp <= now + 1_800, nbf < now]).toEqual(['access', true, true]);
    expect(signature).toBe(createHmac('sha256', 'secret').update(`${header}.${claims}`).digest('base64url'));
    expect(JSON.stringify(sent)).not.toContain('secret');
  });

  it('has a path for text and one for an image, and takes the mode from the model name', async () => {
    const text = await wire.submit({
      model: 'kling-v2-5-turbo/pro',
      parameters: { duration: '5', aspect_ratio: '9:16' },
    });
    expect(text.sent.path).toBe('/videos/text2video');
    expect(text.body).toEqual({
      model_name: 'kling-v2-5-turbo',
      mode: 'pro',
      prompt: 'a fox',
      duration: '5',
      aspect_ratio: '9:16',
      external_task_id: 'att_1',
    });
    expect(text.attempt).toEqual({ kind: 'ok', value: { path: '/videos/text2video', task_id: '867283741759111202' } });
    // A clip has the aspect ratio of its first frame. Base64 is sent without its prefix.
    const framed = await wire.submit({
      model: 'kling-v2-5-turbo',
      parameters: { aspect_ratio: '9:16' },
      image: inline,
    });
    expect(framed.sent.path).toBe('/videos/image2video');
    expect(framed.body).toEqual({
      model_name: 'kling-v2-5-turbo',
      prompt: 'a fox',
      image: 'AAAA',
      external_task_id: 'att_1',
    });
    const picture = await wire.submit({ type: 'image', model: 'kling-v2-1', image: first });
    expect(picture.sent.path).toBe('/images/generations');
    expect(picture.body).toMatchObject({ image: 'https://x.test/1' });
  });

  it('finds a lost job by our key, and does not treat "not found" as proof', async () => {
    const find = (reply: string) => {
      wire.replies.answer(saved(reply));
      return wire.adapter.findMedia?.(wire.upstream, wire.request({}), wire.options());
    };
    expect(await find('processing')).toMatchObject({ kind: 'ok', value: { task_id: '867283741759111202' } });
    expect(wire.replies.received[0]).toMatchObject({ method: 'GET', path: '/videos/text2video/att_1' });
    expect((await find('no-model'))?.kind).not.toBe('ok');
  });
});
