import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createXai } from '../../src/adapters/xai.ts';
import { byPolicy, mediaAdapterSuite } from './media-adapter-suite.ts';
import { openWire, type Wire } from './open-wire.ts';
import { savedReplies } from './saved-replies.ts';

const saved = savedReplies('xai');

mediaAdapterSuite({
  family: 'xai',
  create: createXai,
  image: {
    model: 'grok-imagine-image-2.0',
    parameters: { resolution: '1k', aspect_ratio: '1:1' },
    width: 1_024,
    height: 1_024,
  },
  video: { model: 'grok-imagine-video-1.5', parameters: { duration: 8, resolution: '720p', aspect_ratio: '16:9' } },
  polledType: 'video',
  outputsMax: 1,
  supports: { find: false, cancel: false, probe: true },
  submit: saved('submitted'),
  pending: [saved('pending'), saved('pending-half')],
  unusableSubmits: [{ request_id: '' }, { id: 'a' }],
  unusablePolls: ['done', { status: 7 }, { status: 'paused' }, { status: 'done', video: 'x' }],
  synchronous: {
    replies: [
      {
        name: 'a picture, and one that moderation withheld',
        reply: saved('images'),
        expected: { kind: 'done', outputs: [{ url: expect.stringMatching(/^data:image\/png;base64,iVBOR/) }] },
      },
      {
        name: 'a picture as a URL',
        reply: saved('images-url'),
        expected: { kind: 'done', outputs: [{ url: 'https://imgen.x.ai/xai-imgen/out.jpeg' }] },
      },
      { name: 'a withheld picture', reply: saved('images-withheld'), expected: byPolicy },
    ],
    unusable: [{ data: 'x' }, { data: [7] }, { data: [{ b64_json: 5 }] }],
  },
  polls: [
    {
      name: 'done',
      replies: [saved('done')],
      expected: {
        kind: 'done',
        outputs: [{ url: expect.stringMatching(/^https:\/\/vidgen\.x\.ai/), mimeType: 'video/mp4', duration: 8 }],
      },
    },
    { name: 'done, and withheld', replies: [saved('done-withheld')], expected: byPolicy },
    { name: 'expired', replies: [saved('expired')], expected: { kind: 'failed' } },
    { name: 'failed at the provider', replies: [saved('failed')], expected: { kind: 'failed' } },
    { name: 'failed by moderation', replies: [saved('failed-moderated')], expected: byPolicy },
    {
      name: 'failed because of an input',
      replies: [saved('failed-invalid')],
      expected: { kind: 'refused', code: 'upstream_failed' },
    },
    { name: 'half done', replies: [saved('pending-half')], expected: { kind: 'pending', progress: 49 } },
  ],
  refusals: [
    { name: 'a flagged prompt, as a 403', reply: saved('flagged'), expected: byPolicy },
    {
      name: 'an empty account, as a 403',
      reply: saved('no-credits'),
      expected: { kind: 'transient', errorClass: 'account' },
    },
    {
      name: 'an unknown model',
      reply: saved('no-model'),
      expected: { kind: 'transient', errorClass: 'unknown_model' },
    },
    {
      name: 'an invalid argument',
      reply: saved('invalid'),
      expected: { kind: 'refused', code: 'upstream_failed', errorClass: 'rejected' },
    },
    {
      name: 'an unknown field',
      reply: saved('unparsed'),
      expected: { kind: 'refused', code: 'upstream_failed', errorClass: 'rejected' },
    },
    { name: 'busy', reply: saved('busy'), expected: { kind: 'transient', errorClass: 'provider_error' } },
    {
      name: 'a 500 with other JSON',
      reply: { status: 500, body: { message: 'Internal Server Error' } },
      expected: { kind: 'unknown', errorClass: 'unreadable' },
    },
  ],
});

describe('the xAI adapter on the wire', () => {
  let wire: Wire;
  beforeAll(async () => {
    wire = await openWire({ create: createXai, credential: 'xai-secret', submitted: saved('submitted') });
  });
  afterAll(() => wire.close());

  const first = { url: 'https://x.test/1' };
  const second = { url: 'data:image/png;base64,AAAA' };

  it('requests a clip with its first frame and its references, and no parameter can replace model or prompt', async () => {
    const { sent, body, attempt } = await wire.submit({
      parameters: { duration: 8, resolution: '720p', model: 'dearer', prompt: 'another' },
      image: first,
      referenceImages: [second],
    });
    expect(sent).toMatchObject({
      method: 'POST',
      path: '/videos/generations',
      headers: { authorization: 'Bearer xai-secret', 'idempotency-key': 'att_1' },
    });
    expect(body).toEqual({
      model: 'm',
      prompt: 'a fox',
      duration: 8,
      resolution: '720p',
      image: first,
      reference_images: [second],
    });
    expect(attempt).toEqual({ kind: 'ok', value: { request_id: '0f6b3f7a-9a55-4a35-8d0e-0c8f5a1b2c3d' } });
  });

  it('requests images as base64, and edits one picture in another field than several', async () => {
    const made = async (over: object) => {
      const { sent, body } = await wire.submit({ type: 'image', parameters: { n: 2 }, ...over }, saved('images'));
      return [sent.path, body];
    };
    const common = { model: 'm', prompt: 'a fox', n: 2, response_format: 'b64_json' };
    const [one, two] = [first, second].map(({ url }) => ({ url, type: 'image_url' }));
    expect(await made({})).toEqual(['/images/generations', common]);
    expect(await made({ image: first })).toEqual(['/images/edits', { ...common, image: one }]);
    expect(await made({ image: first, referenceImages: [second] })).toEqual([
      '/images/edits',
      { ...common, images: [one, two] },
    ]);
  });
});
